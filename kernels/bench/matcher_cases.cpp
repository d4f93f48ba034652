#include "kernels/bench/case.hpp"
#include "kernels/bench/detection_case.hpp"
#include "kernels/matcher/matcher.hpp"

namespace harness::kernels::bench {
namespace {

/// Of one IoU: 4 minima and maxima, 4 for the two extents, a product, a sum, a difference, a
/// quotient.
constexpr double kOverlapFlops = 12;

class MatcherCase : public Case {
 public:
  MatcherCase(const Detection& detection, const std::string& implementation)
      : match_(matcher_operator().get(implementation)),
        arguments_{.boxes = detection_boxes(detection), .anchors = detection_anchors(detection)} {}

  void run() override { matched_ = match_(arguments_); }
  std::vector<at::Tensor> results() const override { return {matched_}; }

 private:
  MatcherFn* match_;
  MatcherArguments arguments_;
  at::Tensor matched_{};
};

CaseInfo matcher_case(const Detection& detection) {
  const auto anchors = static_cast<double>(detection.anchor_count());
  CaseInfo info{
      .op = &matcher_operator(),
      .shape = std::to_string(detection.anchor_count()) + "x" + std::to_string(detection.boxes),
      .typical = detection.typical,
      .flops = kOverlapFlops * anchors * static_cast<double>(detection.boxes),
      // Corners read, ids written.
      .bytes = anchors * (16 + 8)};
  info.make = [detection](const std::string& implementation) {
    return std::make_unique<MatcherCase>(detection, implementation);
  };
  return info;
}

}  // namespace

std::vector<CaseInfo> matcher_cases() {
  return {matcher_case({.image_size = 128, .boxes = 4, .typical = false}), matcher_case({}),
          matcher_case({.boxes = 100})};
}

}  // namespace harness::kernels::bench
