#include "kernels/bench/case.hpp"
#include "kernels/bench/detection_case.hpp"
#include "kernels/focal_loss/focal_loss.hpp"

namespace harness::kernels::bench {
namespace {

CaseInfo focal_loss_case(const Detection& detection, int64_t classes, bool bf16) {
  const auto logits = static_cast<double>(detection.anchor_count() * classes);
  const int64_t element = bf16 ? 2 : 4;
  CaseInfo info{.op = &focal_loss_operator(),
                .shape = std::to_string(detection.anchor_count()) + "x" + std::to_string(classes),
                .precision = bf16 ? "bf16" : "fp32",
                .typical = detection.typical,
                // Logits read, their gradient written.
                .bytes = 2 * logits * static_cast<double>(element),
                .tolerance = bf16 ? 1e-2 : 1e-5};
  info.make = [detection, classes, bf16](const std::string& implementation) {
    FocalLossArguments arguments{.levels = head_outputs(detection, classes, bf16),
                                 .classes = classes,
                                 .matched = {detection_matches(detection)}};
    arguments.labels = {at::randint(classes, {detection.boxes}, at::kLong)};
    return std::make_unique<LossCase>(
        arguments.levels, bf16,
        [arguments, loss = focal_loss_operator().get(implementation)] { return loss(arguments); });
  };
  return info;
}

}  // namespace

std::vector<CaseInfo> focal_loss_cases() {
  std::vector<CaseInfo> cases;
  for (const bool bf16 : {false, true}) {
    cases.push_back(focal_loss_case({.image_size = 128, .boxes = 4, .typical = false}, 3, bf16));
    cases.push_back(focal_loss_case({.image_size = 320}, 91, bf16));
    cases.push_back(focal_loss_case({}, 264, bf16));
    cases.push_back(focal_loss_case({.typical = false}, 1, bf16));
    cases.push_back(focal_loss_case({.image_size = 320, .typical = false}, 1203, bf16));
  }
  return cases;
}

}  // namespace harness::kernels::bench
