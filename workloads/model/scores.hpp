// How good a model's answers are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/base/types.hpp"
#include "workloads/model/samples.hpp"

namespace harness::workloads {

/// Values in a tensor of that shape.
std::int64_t values_of(const std::vector<std::int64_t>& shape);

/// The answers to all samples, and what they are held against.
struct ModelAnswers {
  at::Tensor rows{};  ///< (samples, values), float32: of a sample all outputs, one after another
  std::int64_t first = 1;  ///< values of the first output
  at::Tensor labels{};     ///< as ModelSampleSet has them
  const KnownBoxes* boxes = nullptr;
  /// The rows that the reference gives, computed when they are asked for.
  std::function<at::Tensor()> reference{};
};

/// Why a model with a first output of that shape cannot have that metric on such samples; empty
/// when it can. One of model_metrics(): "top-1": the share of samples whose largest value of the
/// first output stands at the label. "correlation": Pearson's, between the first value and the
/// label. "mAP": COCO's, of the first output's rows x1, y1, x2, y2, score, class, in pixels of the
/// input; a score of 0 or less is no box. "agreement": the share of samples whose largest value of
/// the first output stands where it stands in the reference. "relative-error": of all values, |rows
/// - reference| / |reference|, in the Euclidean norm and double precision.
std::string metric_misfit(const std::string& metric, const std::vector<std::int64_t>& first,
                          const at::Tensor& labels, const KnownBoxes* boxes);

/// Whether it needs a reference.
bool is_held_against_reference(const std::string& metric);

/// Without a value, and with the reason, where an answer or one of the reference is not finite, a
/// series is constant, or a box has no class.
Quality score_model(const std::string& metric, const ModelAnswers& answers);

}  // namespace harness::workloads
