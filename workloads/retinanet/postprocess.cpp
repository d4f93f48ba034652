#include "workloads/retinanet/postprocess.hpp"

#include <ATen/TensorIndexing.h>

#include <algorithm>
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
  const int64_t count = boxes.size(0);
  const at::Tensor sorted = boxes.contiguous();
  const at::Tensor order =
      std::get<1>(scores.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  const float* box = sorted.const_data_ptr<float>();
  const int64_t* by_score = order.const_data_ptr<int64_t>();
  std::vector<float> areas(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const float* b = box + 4 * i;
    areas[static_cast<size_t>(i)] = (b[2] - b[0]) * (b[3] - b[1]);
  }
  std::vector<bool> suppressed(static_cast<size_t>(count));
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < count; ++i) {
    const auto best = static_cast<size_t>(by_score[i]);
    if (suppressed[best]) continue;
    kept.push_back(by_score[i]);
    const float* a = box + 4 * best;
    for (int64_t j = i + 1; j < count; ++j) {
      const auto other = static_cast<size_t>(by_score[j]);
      if (suppressed[other]) continue;
      const float* b = box + 4 * other;
      const float width = std::max(0.0F, std::min(a[2], b[2]) - std::max(a[0], b[0]));
      const float height = std::max(0.0F, std::min(a[3], b[3]) - std::max(a[1], b[1]));
      const float intersection = width * height;
      const float overlap = intersection / (areas[best] + areas[other] - intersection);
      if (overlap > static_cast<float>(threshold)) suppressed[other] = true;
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

Detections select_detections(const std::vector<at::Tensor>& logits,
                             const std::vector<at::Tensor>& codes,
                             const std::vector<at::Tensor>& anchors, MapSize size) {
  std::vector<at::Tensor> boxes;
  std::vector<at::Tensor> scores;
  std::vector<at::Tensor> labels;
  for (size_t level = 0; level < logits.size(); ++level) {
    const int64_t classes = logits[level].size(1);
    const at::Tensor all_scores = logits[level].sigmoid().flatten();
    const at::Tensor above = all_scores > kScoreThreshold;
    const at::Tensor candidates = at::where(above).at(0);
    const int64_t count = std::min(kCandidatesPerLevel, candidates.size(0));
    const auto [best, order] = all_scores.index({above}).topk(count);
    const at::Tensor chosen = candidates.index({order});
    const at::Tensor rows = at::div(chosen, classes, "floor");
    boxes.push_back(clip(
        kernels::decode_boxes(codes[level].index({rows}), anchors[level].index({rows})), size));
    scores.push_back(best);
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
