#include "kernels/matcher/matcher.hpp"

#include "kernels/boxes.hpp"

namespace harness::kernels {
namespace {

at::Tensor matcher_reference(const MatcherArguments& arguments) {
  const at::Tensor& anchors = arguments.anchors;
  if (arguments.boxes.numel() == 0) {
    return at::full({anchors.size(0)}, kBackground, anchors.options().dtype(at::kLong));
  }
  const at::Tensor iou = box_iou(arguments.boxes, anchors);
  const auto [best, best_index] = iou.max(0);
  at::Tensor matches = best_index.clone();
  const at::Tensor below = best < arguments.low;
  const at::Tensor between = (best >= arguments.low).__and__(best < arguments.high);
  matches.index_put_({below}, at::scalar_tensor(kBackground, matches.options()));
  matches.index_put_({between}, at::scalar_tensor(kIgnored, matches.options()));
  const at::Tensor best_of_box = std::get<0>(iou.max(1));
  const at::Tensor restored = at::where(iou == best_of_box.unsqueeze(1)).at(1);
  matches.index_put_({restored}, best_index.index({restored}));
  return matches;
}

}  // namespace

Operator<MatcherFn>& matcher_operator() {
  static Operator<MatcherFn> instance{"matcher",
                                      "Assigns each anchor a ground-truth box by overlap."};
  return instance;
}

const Register<MatcherFn> registered_matcher{
    matcher_operator(),
    {"reference", "The full boxes x anchors IoU matrix and index chains, as torchvision does.",
     matcher_reference}};

}  // namespace harness::kernels
