// From head outputs to the boxes that are reported.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "workloads/retinanet/architecture.hpp"
#include "workloads/retinanet/candidates.hpp"

namespace harness::workloads {

inline constexpr double kScoreThreshold = 0.05;
inline constexpr int64_t kCandidatesPerLevel = 1000;
inline constexpr double kNmsThreshold = 0.5;
inline constexpr int64_t kDetectionsPerImage = 300;

/// Of one image, by falling score.
struct Detections {
  at::Tensor boxes{};   ///< (D, 4) float32 pixels
  at::Tensor scores{};  ///< (D) float32
  at::Tensor labels{};  ///< (D) int64
};

/// Indices (int64) of the boxes kept, by falling score: a box goes when its IoU with a better kept
/// one is above `threshold`. Equal scores keep their order.
at::Tensor nms(const at::Tensor& boxes, const at::Tensor& scores, double threshold);

/// nms() within each class, with torchvision's two ways: boxes moved apart by class up to 1000
/// boxes, class after class above.
at::Tensor batched_nms(const at::Tensor& boxes, const at::Tensor& scores, const at::Tensor& labels,
                       double threshold);

/// Of a level's logits (anchors, classes), float32: those whose score may be above the threshold,
/// the best 1000 of them. By all threads.
std::vector<Candidate> level_candidates(const at::Tensor& logits);

/// Per level its candidates, codes (anchors, 4) and anchors (anchors, 4), float32: scores above the
/// threshold, decoded, clipped to `size`, NMS, the best 300.
Detections select_detections(const std::vector<std::vector<Candidate>>& candidates,
                             std::int64_t classes, const std::vector<at::Tensor>& codes,
                             const std::vector<at::Tensor>& anchors, MapSize size);

}  // namespace harness::workloads
