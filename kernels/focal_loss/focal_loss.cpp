#include "kernels/focal_loss/focal_loss.hpp"

#include <ATen/TensorIndexing.h>

#include "kernels/check.hpp"
#include "kernels/head_layout.hpp"
#include "kernels/matcher/matcher.hpp"

namespace harness::kernels {
namespace {

at::Tensor sigmoid_focal_loss_sum(const at::Tensor& logits, const at::Tensor& targets, double alpha,
                                  double gamma) {
  const at::Tensor p = logits.sigmoid();
  const at::Tensor cross_entropy =
      at::binary_cross_entropy_with_logits(logits, targets, {}, {}, at::Reduction::None);
  const at::Tensor p_of_target = p * targets + at::rsub(p, 1) * at::rsub(targets, 1);
  at::Tensor loss = cross_entropy * at::rsub(p_of_target, 1).pow(gamma);
  if (alpha >= 0) {
    loss = (alpha * targets + (1 - alpha) * at::rsub(targets, 1)) * loss;
  }
  return loss.sum();
}

// Operator by operator what the MLPerf reference runs: one-hot targets, then a gather of the rows
// that are not ignored, of logits and targets alike.
at::Tensor focal_loss_reference(const FocalLossArguments& arguments) {
  const std::vector<at::Tensor> images =
      flatten_levels(arguments.levels, arguments.classes).unbind(0);
  require(!images.empty() && images.size() == arguments.matched.size() &&
              images.size() == arguments.labels.size(),
          "focal-loss needs matched ids and labels for each image");
  at::Tensor total;
  for (size_t i = 0; i < images.size(); ++i) {
    const at::Tensor& logits = images[i];
    const at::Tensor& matched = arguments.matched[i];
    const at::Tensor foreground = matched >= 0;
    const at::Tensor count = foreground.sum();
    at::Tensor targets = at::zeros_like(logits);
    targets.index_put_({foreground, arguments.labels[i].index({matched.index({foreground})})},
                       at::scalar_tensor(1, targets.options()));
    const at::Tensor valid = matched != kIgnored;
    const at::Tensor sum = sigmoid_focal_loss_sum(logits.index({valid}), targets.index({valid}),
                                                  arguments.alpha, arguments.gamma);
    const at::Tensor loss = count.item<int64_t>() > 1 ? sum / count : sum / 1;
    total = total.defined() ? total + loss : loss;
  }
  return total / static_cast<int64_t>(images.size());
}

}  // namespace

Operator<FocalLossFn>& focal_loss_operator() {
  static Operator<FocalLossFn> instance{"focal-loss",
                                        "Sigmoid focal loss over all anchors and classes."};
  return instance;
}

const Register<FocalLossFn> registered_focal_loss{
    focal_loss_operator(),
    {"reference", "The MLPerf reference's composition: one-hot targets, gathers, dense arithmetic.",
     focal_loss_reference}};

}  // namespace harness::kernels
