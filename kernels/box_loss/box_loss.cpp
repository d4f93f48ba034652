#include "kernels/box_loss/box_loss.hpp"

#include <ATen/TensorIndexing.h>

#include <algorithm>

#include "kernels/boxes.hpp"
#include "kernels/check.hpp"
#include "kernels/head_layout.hpp"

namespace harness::kernels {
namespace {

at::Tensor box_loss_reference(const BoxLossArguments& arguments) {
  const std::vector<at::Tensor> images = flatten_levels(arguments.levels, 4).unbind(0);
  require(!images.empty() && images.size() == arguments.matched.size() &&
              images.size() == arguments.boxes.size(),
          "box-loss needs matched ids and boxes for each image");
  at::Tensor total;
  for (size_t i = 0; i < images.size(); ++i) {
    const at::Tensor& matched = arguments.matched[i];
    const at::Tensor foreground = at::where(matched >= 0).at(0);
    const at::Tensor boxes = arguments.boxes[i].index({matched.index({foreground})});
    const at::Tensor codes = images[i].index({foreground});
    const at::Tensor targets = encode_boxes(boxes, arguments.anchors.index({foreground}));
    const at::Tensor loss =
        at::l1_loss(codes, targets, at::Reduction::Sum) / std::max<int64_t>(1, foreground.numel());
    total = total.defined() ? total + loss : loss;
  }
  return total / static_cast<int64_t>(images.size());
}

}  // namespace

Operator<BoxLossFn>& box_loss_operator() {
  static Operator<BoxLossFn> instance{"box-loss", "L1 loss on the box codes of matched anchors."};
  return instance;
}

const Register<BoxLossFn> registered_box_loss{
    box_loss_operator(),
    {"reference", "The MLPerf reference's composition: gathers, encoding, L1.",
     box_loss_reference}};

}  // namespace harness::kernels
