// torch.ops.harness.conv_block: the gradient, autocast and the registration; see torch_library.cpp.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/python/torch_conv_block.hpp"

namespace harness::kernels::torch_conv_block {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <class F>
auto operation(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<F>();
}

at::Tensor call_forward(const at::Tensor& input, const at::Tensor& weight, const MaybeTensor& bias,
                        at::TensorList norm, double eps, int64_t stride, int64_t padding,
                        int64_t groups, bool relu, const MaybeTensor& residual) {
  static const auto call = operation<decltype(call_forward)>("harness::conv_block_forward");
  return call.call(input, weight, bias, norm, eps, stride, padding, groups, relu, residual);
}

struct Settings {
  at::TensorList norm;
  double eps;
  int64_t stride, padding, groups;
  bool relu;
};

class ConvBlock : public torch::autograd::Function<ConvBlock> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const MaybeTensor& bias,
                            const MaybeTensor& residual, const Settings& settings) {
    const auto& [norm, eps, stride, padding, groups, relu] = settings;
    const at::AutoDispatchBelowADInplaceOrView below;
    at::Tensor output =
        call_forward(input, weight, bias, norm, eps, stride, padding, groups, relu, residual);
    // The input is only needed for the gradient by the weights, the output for the ReLU's.
    variable_list saved{weight.requires_grad() ? input : at::Tensor(), weight,
                        relu ? output : at::Tensor()};
    saved.insert(saved.end(), norm.begin(), norm.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["input size"] = input.sym_sizes();
    context->saved_data["eps"] = eps;
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["groups"] = groups;
    context->saved_data["bias"] = bias.has_value();
    context->saved_data["residual"] = residual.has_value();
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    require(!at::GradMode::is_enabled(), "conv_block has no second derivative");
    static const auto call =
        operation<Gradients(const at::Tensor&, const MaybeTensor&, c10::SymIntArrayRef,
                            const at::Tensor&, const MaybeTensor&, at::TensorList, double, int64_t,
                            int64_t, int64_t, std::array<bool, 3>)>("harness::conv_block_backward");
    auto& data = context->saved_data;
    const variable_list saved = context->get_saved_variables();
    const auto defined = [](const at::Tensor& t) {
      return t.defined() ? MaybeTensor(t) : std::nullopt;
    };
    MaybeTensor activated = defined(saved[2]);
    // Inputs that are not there have no edge, so those after them move up.
    const bool has_bias = data["bias"].toBool();
    const bool by_bias = has_bias && context->needs_input_grad(2);
    const bool by_residual =
        data["residual"].toBool() && context->needs_input_grad(has_bias ? 3 : 2);
    at::Tensor gradient = gradients[0];
    if (by_residual && activated) {
      gradient = at::threshold_backward(gradient, *activated, 0);
      activated.reset();
    }
    const std::array<bool, 3> wanted{context->needs_input_grad(0), context->needs_input_grad(1),
                                     by_bias};
    variable_list result(5);
    if (wanted[0] || wanted[1] || wanted[2]) {
      const std::vector<c10::SymInt> input_size = data["input size"].toSymIntVector();
      auto [input, weight, bias] =
          call.call(gradient, defined(saved[0]), input_size, saved[1], activated,
                    at::TensorList(saved).slice(3), data["eps"].toDouble(), data["stride"].toInt(),
                    data["padding"].toInt(), data["groups"].toInt(), wanted);
      if (wanted[0]) result[0] = std::move(input);
      if (wanted[1]) result[1] = std::move(weight);
      if (wanted[2]) result[2] = std::move(bias);
    }
    if (by_residual) result[3] = gradient;
    return result;
  }
};

at::Tensor differentiable(const at::Tensor& input, const at::Tensor& weight,
                          const MaybeTensor& bias, at::TensorList norm, double eps, int64_t stride,
                          int64_t padding, int64_t groups, bool relu, const MaybeTensor& residual) {
  const auto trains = [](const at::Tensor& tensor) {
    return at::GradMode::is_enabled() && tensor.requires_grad();
  };
  require(std::none_of(norm.begin(), norm.end(), trains),
          "conv_block: a frozen norm's tensors must not require a gradient");
  if (trains(input) || trains(weight) || (bias && trains(*bias)) ||
      (residual && trains(*residual))) {
    return ConvBlock::apply(input, weight, bias, residual,
                            Settings{norm, eps, stride, padding, groups, relu});
  }
  const at::AutoDispatchBelowADInplaceOrView below;
  return call_forward(input, weight, bias, norm, eps, stride, padding, groups, relu, residual);
}

/// Under autocast the activations take its type; the weights are float32 in any case.
at::Tensor autocast(const at::Tensor& input, const at::Tensor& weight, const MaybeTensor& bias,
                    at::TensorList norm, double eps, int64_t stride, int64_t padding,
                    int64_t groups, bool relu, const MaybeTensor& residual) {
  static const auto call = operation<decltype(autocast)>("harness::conv_block");
  const c10::impl::ExcludeDispatchKeyGuard off(c10::DispatchKey::AutocastCPU);
  const at::ScalarType type = at::autocast::get_autocast_dtype(at::kCPU);
  return call.call(input.to(type), weight, bias, norm, eps, stride, padding, groups, relu,
                   residual ? MaybeTensor(residual->to(type)) : residual);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(harness, library) {
  // input (N, C, H, W), weight (O, C/groups, k, k), bias (O), norm [weight, bias, running_mean,
  // running_var] or [], residual like the output -> (N, O, H', W'); see
  // kernels/conv_block/conv_block.hpp
  library.def(
      "conv_block(Tensor input, Tensor weight, Tensor? bias, Tensor[] norm, "
      "float eps=1e-5, int stride=1, int padding=0, int groups=1, bool relu=False, "
      "Tensor? residual=None) -> Tensor");
  library.def(
      "conv_block_forward(Tensor input, Tensor weight, Tensor? bias, Tensor[] norm, float eps, "
      "int stride, int padding, int groups, bool relu, Tensor? residual) -> Tensor");
  library.def(
      "conv_block_backward(Tensor gradient, Tensor? input, SymInt[] input_size, Tensor weight, "
      "Tensor? activated, Tensor[] norm, float eps, int stride, int padding, int groups, "
      "bool[3] wanted) -> (Tensor input, Tensor weight, Tensor bias)");
}

TORCH_LIBRARY_IMPL(harness, CPU, library) {
  library.impl("conv_block_forward", forward);
  library.impl("conv_block_backward", backward);
}

TORCH_LIBRARY_IMPL(harness, Meta, library) {
  library.impl("conv_block_forward", forward_shape);
  library.impl("conv_block_backward", backward_shapes);
}

TORCH_LIBRARY_IMPL(harness, CompositeExplicitAutograd, library) {
  library.impl("conv_block", call_forward);
}

TORCH_LIBRARY_IMPL(harness, Autograd, library) { library.impl("conv_block", differentiable); }

TORCH_LIBRARY_IMPL(harness, AutocastCPU, library) { library.impl("conv_block", autocast); }

}  // namespace harness::kernels::torch_conv_block
