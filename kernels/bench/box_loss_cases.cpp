#include "kernels/bench/case.hpp"
#include "kernels/bench/detection_case.hpp"
#include "kernels/box_loss/box_loss.hpp"

namespace harness::kernels::bench {
namespace {

CaseInfo box_loss_case(const Detection& detection, bool bf16) {
  const auto anchors = static_cast<double>(detection.anchor_count());
  CaseInfo info{
      .op = &box_loss_operator(),
      .shape = std::to_string(detection.anchor_count()) + "x" + std::to_string(detection.boxes),
      .precision = bf16 ? "bf16" : "fp32",
      .typical = detection.typical,
      // The matched ids read, four gradients an anchor written; few anchors are matched.
      .bytes = anchors * (8 + 4 * (bf16 ? 2 : 4)),
      .tolerance = 1e-5};
  info.make = [detection, bf16](const std::string& implementation) {
    const BoxLossArguments arguments{.levels = head_outputs(detection, 4, bf16),
                                     .matched = {detection_matches(detection)},
                                     .boxes = {detection_boxes(detection)},
                                     .anchors = detection_anchors(detection)};
    return std::make_unique<LossCase>(
        arguments.levels, bf16,
        [arguments, loss = box_loss_operator().get(implementation)] { return loss(arguments); });
  };
  return info;
}

}  // namespace

std::vector<CaseInfo> box_loss_cases() {
  std::vector<CaseInfo> cases;
  for (const bool bf16 : {false, true}) {
    cases.push_back(box_loss_case({.image_size = 128, .boxes = 4, .typical = false}, bf16));
    cases.push_back(box_loss_case({}, bf16));
    cases.push_back(box_loss_case({.boxes = 100}, bf16));
  }
  return cases;
}

}  // namespace harness::kernels::bench
