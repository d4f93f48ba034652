#include "workloads/retinanet/postprocess.hpp"

#include <ATen/TensorIndexing.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/boxes.hpp"

namespace harness::workloads {
namespace {

// torchvision switches at 4000 coordinates. The two ways differ by rounding: moving boxes apart
// costs bits of their coordinates.
constexpr int64_t kMovedApartLimit = 4000;

at::Tensor clip(const at::Tensor& boxes, MapSize size) {
  const at::Tensor x = boxes.slice(1, 0, 4, 2).clamp(0, size.width);
  const at::Tensor y = boxes.slice(1, 1, 4, 2).clamp(0, size.height);
  return at::stack({x, y}, 2).reshape(boxes.sizes());
}

}  // namespace

at::Tensor nms(const at::Tensor& boxes, const at::Tensor& scores, double threshold) {
  const auto count = static_cast<size_t>(boxes.size(0));
  const at::Tensor order =
      std::get<1>(scores.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  // Coordinates in rows, the best box first, so that one box meets all others in vectors.
  const at::Tensor rows = boxes.index_select(0, order).t().contiguous();
  const float* const x1 = rows.const_data_ptr<float>();
  const float* const y1 = x1 + count;
  const float* const x2 = y1 + count;
  const float* const y2 = x2 + count;
  std::vector<float> areas(count);
  for (size_t i = 0; i < count; ++i) areas[i] = (x2[i] - x1[i]) * (y2[i] - y1[i]);
  const int64_t* const by_score = order.const_data_ptr<int64_t>();
  const auto limit = static_cast<float>(threshold);
  std::vector<std::int32_t> suppressed(count);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < count; ++i) {
    if (suppressed[i] != 0) continue;
    kept.push_back(by_score[i]);
    const float left = x1[i];
    const float top = y1[i];
    const float right = x2[i];
    const float bottom = y2[i];
    const float area = areas[i];
    for (size_t j = i + 1; j < count; ++j) {
      const float width = std::max(0.0F, std::min(right, x2[j]) - std::max(left, x1[j]));
      const float height = std::max(0.0F, std::min(bottom, y2[j]) - std::max(top, y1[j]));
      const float intersection = width * height;
      const float overlap = intersection / (area + areas[j] - intersection);
      suppressed[j] |= overlap > limit ? 1 : 0;
    }
  }
  at::Tensor result = at::empty({static_cast<int64_t>(kept.size())}, at::kLong);
  std::copy(kept.begin(), kept.end(), result.data_ptr<int64_t>());
  return result;
}

at::Tensor batched_nms(const at::Tensor& boxes, const at::Tensor& scores, const at::Tensor& labels,
                       double threshold) {
  if (boxes.numel() == 0) return at::empty({0}, at::kLong);
  if (boxes.numel() <= kMovedApartLimit) {
    const at::Tensor offsets = labels.to(boxes.scalar_type()) * (boxes.max() + 1);
    return nms(boxes + offsets.unsqueeze(1), scores, threshold);
  }
  const at::Tensor keep = at::zeros_like(scores, at::kBool);
  const at::Tensor classes = std::get<0>(at::_unique(labels));
  for (const at::Tensor& label : classes.unbind(0)) {
    const at::Tensor members = at::where(labels == label).at(0);
    const at::Tensor kept = nms(boxes.index({members}), scores.index({members}), threshold);
    keep.index_fill_(0, members.index({kept}), true);
  }
  const at::Tensor kept = at::where(keep).at(0);
  const at::Tensor order = std::get<1>(scores.index({kept}).sort(0, /*descending=*/true));
  return kept.index({order});
}

std::vector<Candidate> level_candidates(const at::Tensor& logits) {
  // A score's last bits may fall on either side of the threshold: they are looked at when it is
  // known.
  static const auto limit =
      static_cast<float>(std::log(kScoreThreshold / (1 - kScoreThreshold)) - 1e-3);
  const at::Tensor rows = logits.contiguous();
  return best_candidates(rows.const_data_ptr<float>(), rows.numel(), limit, kCandidatesPerLevel);
}

Detections select_detections(const std::vector<std::vector<Candidate>>& candidates,
                             std::int64_t classes, const std::vector<at::Tensor>& codes,
                             const std::vector<at::Tensor>& anchors, MapSize size) {
  std::vector<at::Tensor> boxes;
  std::vector<at::Tensor> scores;
  std::vector<at::Tensor> labels;
  for (size_t level = 0; level < candidates.size(); ++level) {
    const auto count = static_cast<std::int64_t>(candidates[level].size());
    at::Tensor logits = at::empty({count}, at::kFloat);
    at::Tensor places = at::empty({count}, at::kLong);
    for (std::int64_t i = 0; i < count; ++i) {
      const Candidate& candidate = candidates[level][static_cast<size_t>(i)];
      logits.mutable_data_ptr<float>()[i] = candidate.logit;
      places.mutable_data_ptr<std::int64_t>()[i] = candidate.place;
    }
    const at::Tensor level_scores = logits.sigmoid();
    // The best come first.
    const std::int64_t above = (level_scores > kScoreThreshold).sum().item<std::int64_t>();
    const at::Tensor chosen = places.slice(0, 0, above);
    const at::Tensor rows = at::div(chosen, classes, "floor");
    boxes.push_back(clip(kernels::decode_boxes(codes[level].index_select(0, rows),
                                               anchors[level].index_select(0, rows)),
                         size));
    scores.push_back(level_scores.slice(0, 0, above));
    labels.push_back(at::remainder(chosen, classes));
  }
  const at::Tensor all_boxes = at::cat(boxes);
  const at::Tensor all_scores = at::cat(scores);
  const at::Tensor all_labels = at::cat(labels);
  const at::Tensor kept = batched_nms(all_boxes, all_scores, all_labels, kNmsThreshold)
                              .slice(0, 0, kDetectionsPerImage);
  return {.boxes = all_boxes.index({kept}),
          .scores = all_scores.index({kept}),
          .labels = all_labels.index({kept})};
}

}  // namespace harness::workloads
