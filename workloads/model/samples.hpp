// The samples of a task: what a model is asked, and where somebody knows it, the right answer.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/base/types.hpp"
#include "harness/workload/workload.hpp"

namespace harness::workloads {

class ModelSampleSet {
 public:
  virtual ~ModelSampleSet() = default;
  virtual std::int64_t count() const = 0;
  /// For each input a tensor, (1, shape...). Throws Error for a file that cannot be decoded.
  virtual std::vector<at::Tensor> sample(std::int64_t index) const = 0;
  /// (samples), classes from 0 (int64) or numbers (float32, float64). Undefined where nobody knows
  /// any.
  virtual at::Tensor labels() const = 0;
  virtual Artifact artifact() const = 0;
};

/// As the task has them, at least one. Throws Error, naming the file, for one that is missing,
/// damaged, or of other shapes or types than the model takes.
std::unique_ptr<ModelSampleSet> open_samples(const ModelTask& task, const WorkloadContext& context);

}  // namespace harness::workloads
