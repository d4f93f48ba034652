// The kernels as PyTorch operators: torch.ops.load_library("libharness_ops.so"), then
// torch.ops.harness.NAME. Each has what autograd and torch.compile ask for: its gradient, the
// shapes of its results without computing them, and its work as operators of their own, which a
// compiler keeps as nodes.
#include <torch/library.h>

#include <tuple>
#include <utility>
#include <vector>

#include "kernels/focal_loss/focal_loss_custom.hpp"

namespace harness::kernels {
namespace {

using LossAndGradients = std::tuple<at::Tensor, std::vector<at::Tensor>>;

FocalLossArguments pack(at::TensorList levels, int64_t classes, at::TensorList matched,
                        at::TensorList labels, double alpha, double gamma) {
  return {.levels = levels.vec(),
          .classes = classes,
          .matched = matched.vec(),
          .labels = labels.vec(),
          .alpha = alpha,
          .gamma = gamma};
}

LossAndGradients focal_loss_forward(at::TensorList levels, int64_t classes, at::TensorList matched,
                                    at::TensorList labels, double alpha, double gamma,
                                    const c10::List<bool>& wanted) {
  FocalLossResult result =
      focal_loss_and_gradients(pack(levels, classes, matched, labels, alpha, gamma),
                               std::vector<bool>(wanted.begin(), wanted.end()));
  return {std::move(result.loss), std::move(result.gradients)};
}

LossAndGradients focal_loss_shapes(at::TensorList levels, int64_t classes, at::TensorList matched,
                                   at::TensorList labels, double alpha, double gamma,
                                   const c10::List<bool>& wanted) {
  check_focal_loss(pack(levels, classes, matched, labels, alpha, gamma),
                   std::vector<bool>(wanted.begin(), wanted.end()));
  std::vector<at::Tensor> gradients;
  for (size_t i = 0; i < levels.size(); ++i) {
    gradients.push_back(wanted[i] ? at::empty_like(levels[i], at::MemoryFormat::ChannelsLast)
                                  : at::empty({0}, levels[i].options()));
  }
  return {at::empty({}, levels[0].options().dtype(at::kFloat)), std::move(gradients)};
}

LossAndGradients call_forward(at::TensorList levels, int64_t classes, at::TensorList matched,
                              at::TensorList labels, double alpha, double gamma,
                              const std::vector<bool>& wanted) {
  static const auto forward = c10::Dispatcher::singleton()
                                  .findSchemaOrThrow("harness::focal_loss_forward", "")
                                  .typed<decltype(focal_loss_forward)>();
  c10::List<bool> flags;
  for (const bool flag : wanted) flags.push_back(flag);
  return forward.call(levels, classes, matched, labels, alpha, gamma, flags);
}

at::Tensor focal_loss(at::TensorList levels, int64_t classes, at::TensorList matched,
                      at::TensorList labels, double alpha, double gamma) {
  const std::vector<bool> wanted(levels.size(), false);
  return std::get<0>(call_forward(levels, classes, matched, labels, alpha, gamma, wanted));
}

at::Tensor focal_loss_autograd(at::TensorList levels, int64_t classes, at::TensorList matched,
                               at::TensorList labels, double alpha, double gamma) {
  return differentiable_focal_loss(levels.vec(), [&](const std::vector<bool>& wanted) {
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [loss, gradients] = call_forward(levels, classes, matched, labels, alpha, gamma, wanted);
    return FocalLossResult{std::move(loss), std::move(gradients)};
  });
}

}  // namespace

TORCH_LIBRARY(harness, library) {
  // levels: (N, A * classes, H, W) each; matched: per image (anchors), labels: per image (boxes).
  // -> scalar; see kernels/focal_loss/focal_loss.hpp
  library.def(
      "focal_loss(Tensor[] levels, int classes, Tensor[] matched, Tensor[] labels, "
      "float alpha=0.25, float gamma=2.0) -> Tensor");
  library.def(
      "focal_loss_forward(Tensor[] levels, int classes, Tensor[] matched, Tensor[] labels, "
      "float alpha, float gamma, bool[] wanted) -> (Tensor loss, Tensor[] gradients)");
}

TORCH_LIBRARY_IMPL(harness, CPU, library) {
  library.impl("focal_loss_forward", focal_loss_forward);
}

TORCH_LIBRARY_IMPL(harness, Meta, library) {
  library.impl("focal_loss_forward", focal_loss_shapes);
}

TORCH_LIBRARY_IMPL(harness, CompositeExplicitAutograd, library) {
  library.impl("focal_loss", focal_loss);
}

TORCH_LIBRARY_IMPL(harness, Autograd, library) { library.impl("focal_loss", focal_loss_autograd); }

}  // namespace harness::kernels
