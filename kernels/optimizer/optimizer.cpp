#include "kernels/optimizer/optimizer.hpp"

#include <ATen/core/grad_mode.h>

#include <cmath>

namespace harness::kernels {
namespace {

// torch.optim.Adam's default path on CPU (single tensor, neither foreach nor fused).
void adam_reference(AdamState& state, double learning_rate) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < state.parameters.size(); ++i) {
    at::Tensor& parameter = state.parameters[i];
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    const auto step = static_cast<double>(++state.steps[i]);
    state.first_moments[i].lerp_(gradient, 1 - state.beta1);
    state.second_moments[i].mul_(state.beta2).addcmul_(gradient, gradient, 1 - state.beta2);
    const double correction1 = 1 - std::pow(state.beta1, step);
    const double correction2 = 1 - std::pow(state.beta2, step);
    const at::Tensor denominator =
        (state.second_moments[i].sqrt() / std::sqrt(correction2)).add_(state.eps);
    parameter.addcdiv_(state.first_moments[i], denominator, -learning_rate / correction1);
  }
}

}  // namespace

AdamState make_adam_state(std::vector<at::Tensor> parameters) {
  AdamState state;
  state.parameters = std::move(parameters);
  for (const at::Tensor& parameter : state.parameters) {
    const at::Tensor detached = parameter.detach();
    state.first_moments.push_back(at::zeros_like(detached));
    state.second_moments.push_back(at::zeros_like(detached));
    state.steps.push_back(0);
  }
  return state;
}

void clear_gradients(AdamState& state) {
  for (at::Tensor& parameter : state.parameters) parameter.mutable_grad() = at::Tensor();
}

Operator<AdamFn>& optimizer_operator() {
  static Operator<AdamFn> instance{"optimizer", "One Adam step over all trainable parameters."};
  return instance;
}

const Register<AdamFn> registered_optimizer{
    optimizer_operator(),
    {"reference", "One ATen operator after another, as torch.optim.Adam does on a CPU.",
     adam_reference}};

}  // namespace harness::kernels
