#include "workloads/torch/torch_workload.hpp"

#include <cmath>

#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/threads.hpp"
#include "kernels/runtime/versions.hpp"
#include "workloads/torch/replayer.hpp"
#include "workloads/torch/step_recorder.hpp"
#include "workloads/torch/tuning.hpp"

namespace harness::workloads {

void TorchWorkload::prepare(const WorkloadContext& context) {
  context_ = &context;
  kernels::use_allocator(context.allocator);
  kernels::set_threads(context.threads);
  use_tuning(context.tuning);
  kernels::reset_peak_memory();
  build();
  kernels::reset_peak_memory();
}

WorkloadFacts TorchWorkload::facts() const {
  WorkloadFacts facts = facts_of_model();
  facts.hyperparameters.merge(arithmetic());
  facts.choices = kernel_choices();
  facts.software = kernels::library_versions();
  facts.software["threads"] = std::to_string(kernels::threads());
  return facts;
}

std::optional<MemoryUse> TorchWorkload::memory() const {
  return MemoryUse{static_cast<double>(kernels::memory_counters().peak_bytes)};
}

std::unique_ptr<StepRecorder> TorchWorkload::recorder(const WorkloadContext& /*context*/) {
  recorded_ = true;
  return make_step_recorder();
}

std::unique_ptr<Replayer> TorchWorkload::replayer(const WorkloadContext& context,
                                                  const ReplaySizes& sizes) {
  kernels::use_allocator(context.allocator);
  kernels::set_threads(context.threads);
  use_tuning(context.tuning);
  return make_replayer(context.threads, sizes);
}

std::unique_ptr<KernelCandidates> TorchWorkload::candidates(const ReplaySizes& sizes) {
  return make_candidates(
      keeps_weights() ? kernels::CandidateUse::kInference : kernels::CandidateUse::kTraining,
      sizes);
}

Check relative_error(const std::string& name, const at::Tensor& actual, const at::Tensor& expected,
                     double tolerance) {
  const at::Tensor got = actual.detach().to(at::kDouble);
  const at::Tensor want = expected.detach().to(at::kDouble);
  const double norm = want.norm().item<double>();
  const double distance = (got - want).norm().item<double>();
  const double error = distance == 0 ? 0 : distance / norm;
  Check check{name, std::to_string(norm), std::to_string(got.norm().item<double>()), {}, tolerance,
              false};
  if (std::isfinite(error)) {
    check.error = error;
    check.passed = error <= tolerance;
  }
  return check;
}

}  // namespace harness::workloads
