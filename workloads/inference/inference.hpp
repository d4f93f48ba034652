// What workloads that answer queries share: samples in memory, batches of them in an order of their
// own, and a score over all there are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/int8/ranges.hpp"
#include "workloads/torch/torch_workload.hpp"

namespace harness::workloads {

/// A step is one query: as many samples as the batch, all in memory before the clock starts, as
/// MLPerf Inference has it. The order follows from the seed of the data.
class Inference : public TorchWorkload, public Steps, public Answers {
 public:
  using Answers::Samples;
  void begin_steps() final;
  StepStats step() final;
  Quality evaluate() final;
  std::vector<float> answer_query(const Samples& samples) final;
  Quality score_answers(const std::vector<float>& rows) const final;

 protected:
  /// (samples, outputs), float32, of samples that are loaded.
  virtual at::Tensor answer(const Samples& samples) = 0;
  /// From the answers to all samples, in order.
  virtual Quality score(const at::Tensor& answers) const = 0;
  /// Whether that hangs on the answers; where not, score() takes any.
  virtual bool judges_answers() const { return true; }
  /// Model and samples in memory.
  virtual void build_model() = 0;
  /// How many there are for int8 to be calibrated by; 0: none.
  virtual std::int64_t training_samples() const { return 0; }
  /// Runs the model on that sample of the training set.
  virtual void run_training_sample(std::int64_t /*sample*/) {}

 private:
  void build() final;
  bool keeps_weights() const final { return true; }
  std::map<std::string, std::string> arithmetic() const final;
  void calibrate();
  Samples next_query();
  /// The arithmetic that was asked for, while it lives.
  struct Precision;

  Samples queue_{};  ///< of the samples in memory, each once
  std::size_t next_ = 0;
  std::optional<kernels::Int8Ranges> ranges_{};  ///< in int8
};

/// (N, outputs), float32, from (N, inputs): features · weightᵀ + bias, each row by itself, so that
/// its bits do not depend on how many there are. MLPerf's TEST01 compares them.
at::Tensor linear_by_row(const at::Tensor& features, const at::Tensor& weight,
                         const at::Tensor& bias);

}  // namespace harness::workloads
