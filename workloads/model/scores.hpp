// How good a model's answers are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/base/types.hpp"

namespace harness::workloads {

/// Values in a tensor of that shape.
std::int64_t values_of(const std::vector<std::int64_t>& shape);

/// The answers to all samples, and what they are held against.
struct ModelAnswers {
  at::Tensor rows{};  ///< (samples, values), float32: of a sample all outputs, one after another
  std::int64_t first = 1;  ///< values of the first output
  at::Tensor labels{};     ///< as ModelSampleSet has them
  /// The rows that the reference gives, computed when they are asked for.
  std::function<at::Tensor()> reference{};
};

/// "top-1": the share of samples whose largest value of the first output stands at the label.
/// "correlation": Pearson's, between the first value and the label. "agreement": the share of
/// samples whose largest value of the first output stands where it stands in the reference.
/// "relative-error": of all values, |rows - reference| / |reference|, in the Euclidean norm and
/// double precision; lower is better.
std::vector<std::string> model_metrics();

/// Why a model with a first output of so many values cannot have that metric, or samples with or
/// without labels; empty when it can.
std::string metric_misfit(const std::string& metric, std::int64_t first, bool labelled);

/// Without a value, and with the reason, where an answer is not finite, a label is no class, or a
/// series is constant.
Quality score_model(const std::string& metric, const ModelAnswers& answers);

}  // namespace harness::workloads
