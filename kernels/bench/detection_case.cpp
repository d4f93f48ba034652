#include "kernels/bench/detection_case.hpp"

#include "kernels/anchors.hpp"
#include "kernels/matcher/matcher.hpp"
#include "kernels/runtime/autocast.hpp"

namespace harness::kernels::bench {

int64_t Detection::anchor_count() const { return kernels::anchor_count(image_size, image_size); }

at::Tensor detection_anchors(const Detection& detection) {
  return at::cat(level_anchors(detection.image_size, detection.image_size));
}

at::Tensor detection_boxes(const Detection& detection) {
  at::manual_seed(1);
  const auto size = static_cast<double>(detection.image_size);
  const at::Tensor extent = (at::rand({detection.boxes, 2}) * 240 + 16).clamp_max(size / 2);
  const at::Tensor corner = at::rand({detection.boxes, 2}) * at::rsub(extent, size);
  return at::cat({corner, corner + extent}, 1);
}

at::Tensor detection_matches(const Detection& detection) {
  return matcher_operator().get("reference")(
      {.boxes = detection_boxes(detection), .anchors = detection_anchors(detection)});
}

std::vector<at::Tensor> head_outputs(const Detection& detection, int64_t columns, bool bf16) {
  at::manual_seed(2);
  std::vector<at::Tensor> levels;
  for (const auto& map : pyramid_sizes(detection.image_size, detection.image_size)) {
    const at::Tensor values = at::randn({1, kAnchorsPerLocation * columns, map.height, map.width});
    levels.push_back(values.to(bf16 ? at::kBFloat16 : at::kFloat)
                         .contiguous(at::MemoryFormat::ChannelsLast)
                         .set_requires_grad(true));
  }
  return levels;
}

void LossCase::run() {
  for (at::Tensor& level : levels_) level.mutable_grad() = at::Tensor();
  {
    const AutocastScope autocast(bf16_);
    value_ = loss_();
  }
  value_.backward();
}

std::vector<at::Tensor> LossCase::results() const {
  std::vector<at::Tensor> all = {value_.detach()};
  for (const at::Tensor& level : levels_) all.push_back(level.grad());
  return all;
}

}  // namespace harness::kernels::bench
