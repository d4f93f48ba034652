// What every workload on LibTorch shares: allocator, threads and memory counters, and quality as
// an error measured in tolerances.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <string>

#include "harness/workload/capabilities.hpp"

namespace harness::workloads {

class TorchWorkload : public Workload, public Recordable, public Replayable, public Tunable {
 public:
  void prepare(const WorkloadContext& context) final;
  WorkloadFacts facts() const final;
  std::optional<MemoryUse> memory() const final;
  std::unique_ptr<StepRecorder> recorder(const WorkloadContext& context) final;
  std::unique_ptr<Replayer> replayer(const WorkloadContext& context,
                                     const ReplaySizes& sizes) final;
  std::unique_ptr<KernelCandidates> candidates(const ReplaySizes& sizes) final;

 protected:
  /// Builds model, data in memory and optimiser, with the allocator and the threads of the context.
  virtual void build() = 0;
  /// All facts but the software.
  virtual WorkloadFacts facts_of_model() const = 0;
  /// Whether its weights stay as they are: what kernels make of them is then made once.
  virtual bool keeps_weights() const { return false; }
  /// What there is to tell of its arithmetic, beside the model's own hyperparameters.
  virtual std::map<std::string, std::string> arithmetic() const { return {}; }

  /// Valid from build() on.
  const WorkloadContext& context() const { return *context_; }
  bool bf16() const { return context_->precision == "bf16"; }
  /// Whether `harness profile` looks into it.
  bool recorded() const { return recorded_; }

 private:
  bool recorded_ = false;
  const WorkloadContext* context_ = nullptr;
};

/// |actual - expected| / |expected| in the Euclidean norm, computed in double precision. Values of
/// the check are the norms.
Check relative_error(const std::string& name, const at::Tensor& actual, const at::Tensor& expected,
                     double tolerance);

}  // namespace harness::workloads
