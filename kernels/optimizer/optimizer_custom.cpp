// `optimizer=custom`: LibTorch's fused Adam, one pass over each parameter.
#include <ATen/core/grad_mode.h>

#include <utility>
#include <vector>

#include "kernels/optimizer/optimizer.hpp"
#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {
namespace {

/// Whether element i of both lies at the same offset, for all i. Strides of extents of 1 say
/// nothing.
bool is_laid_out_like(const at::Tensor& tensor, const at::Tensor& model) {
  for (int64_t d = 0; d < model.dim(); ++d) {
    if (model.size(d) > 1 && tensor.stride(d) != model.stride(d)) return false;
  }
  return true;
}

at::Tensor laid_out_like(const at::Tensor& tensor, const at::Tensor& model) {
  return is_laid_out_like(tensor, model) ? tensor : at::empty_like(model).copy_(tensor);
}

void adam_custom(AdamState& state, double learning_rate) {
  const KernelScope scope("optimizer");
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> first_moments;
  std::vector<at::Tensor> second_moments;
  std::vector<at::Tensor> steps;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (size_t i = 0; i < state.parameters.size(); ++i) {
    const at::Tensor& parameter = state.parameters[i];
    if (!parameter.grad().defined()) continue;
    // The fused operator walks the memory of all four in step, whatever their strides say. The
    // moments have no gaps, which cannot be said of the others.
    const at::Tensor& model = state.first_moments[i];
    parameters.push_back(laid_out_like(parameter, model));
    if (!parameters.back().is_same(parameter)) copies.emplace_back(parameter, parameters.back());
    gradients.push_back(laid_out_like(parameter.grad(), model));
    first_moments.push_back(model);
    second_moments.push_back(state.second_moments[i]);
    steps.push_back(at::scalar_tensor(static_cast<double>(++state.steps[i]), at::kFloat));
  }
  if (parameters.empty()) return;
  at::_fused_adam_(parameters, gradients, first_moments, second_moments, {}, steps, learning_rate,
                   state.beta1, state.beta2, 0, state.eps, false, false);
  for (const auto& [parameter, values] : copies) parameter.copy_(values);
  // LibTorch counts no version for fused optimisers; who keeps weights prepared relies on it.
  for (const auto& tensors : {parameters, first_moments, second_moments}) {
    for (const at::Tensor& tensor : tensors) tensor.unsafeGetTensorImpl()->bump_version();
  }
}

}  // namespace

const Register<AdamFn> registered_optimizer_custom{
    optimizer_operator(),
    {"custom", "LibTorch's fused Adam: each parameter in one pass.", adam_custom}};

}  // namespace harness::kernels
