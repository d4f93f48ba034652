// `conv-block` on oneDNN primitives: bias or folded norm, residual and ReLU behind the
// convolution's last store, forward and backward as one autograd function.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <tuple>

#include "kernels/check.hpp"
#include "kernels/conv_block/conv_block.hpp"
#include "kernels/conv_block/shape.hpp"
#include "kernels/convolution/convolution.hpp"
#include "kernels/convolution/folded_norm.hpp"
#include "kernels/int8/int8.hpp"
#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

/// A conversion that is none still goes through LibTorch's dispatcher.
at::Tensor in_type(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.scalar_type() == type ? tensor : tensor.to(type);
}

// The gradient before the ReLU: where the output is 0, nothing came through. A gradient that nobody
// else holds is overwritten, which spares a buffer.
at::Tensor through_relu(const at::Tensor& gradient, const at::Tensor& output, bool mine) {
  if (!mine) return at::threshold_backward(gradient, output, 0);
  at::Tensor target = gradient;
  at::threshold_backward_out(target, gradient, output, 0);
  return target;
}

// What no gradient flows to.
struct Fixed {
  Convolution* convolution = nullptr;
  at::Tensor scale{};
};

class ConvBlockFunction : public torch::autograd::Function<ConvBlockFunction> {
 public:
  // In the order of the gradients that backward() returns.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            const std::optional<at::Tensor>& residual, const Fixed& fixed) {
    const auto& [convolution, scale] = fixed;
    at::Tensor output = convolution->forward(input, {weight, scale}, bias.value_or(at::Tensor()),
                                             residual.value_or(at::Tensor()));
    // The input is only needed for the gradient by the weights, the output for the ReLU's.
    context->save_for_backward({weight.requires_grad() ? input : at::Tensor(), weight, scale,
                                convolution->shape().relu ? output : at::Tensor()});
    context->saved_data["convolution"] = reinterpret_cast<int64_t>(convolution);
    context->saved_data["bias"] = bias.has_value();
    context->saved_data["residual"] = residual.has_value();
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    require(!at::GradMode::is_enabled(), "conv-block=custom has no second derivative");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& input = saved[0];
    const ConvolutionWeights weights{saved[1], saved[2]};
    // The pointer that forward() put there; what it points to lives as long as the program.
    const int64_t address = context->saved_data["convolution"].toInt();
    auto& convolution =
        *reinterpret_cast<Convolution*>(address);  // NOLINT(performance-no-int-to-ptr)
    const ConvolutionShape& shape = convolution.shape();

    at::Tensor gradient = channels_last(gradients[0].to(shape.type));
    at::Tensor activated;
    // Inputs that are not there have no edge, so those after them move up.
    const bool has_bias = context->saved_data["bias"].toBool();
    const bool by_residual =
        context->saved_data["residual"].toBool() && context->needs_input_grad(has_bias ? 3 : 2);
    if (shape.relu && convolution.applies_mask() && !by_residual) {
      activated = saved[3];
    } else if (shape.relu) {
      const bool mine = gradient.use_count() == (gradient.is_same(gradients[0]) ? 2 : 1) &&
                        gradient.storage().use_count() == 1;
      gradient = through_relu(gradient, saved[3], mine);
    }
    variable_list result(5);
    if (context->needs_input_grad(0)) {
      result[0] = convolution.backward_data(gradient, activated, weights);
    }
    if (context->needs_input_grad(1)) {
      if (shape.bias_gradient) result[2] = at::empty({shape.out_channels}, at::kFloat);
      result[1] = convolution.backward_weights(input, gradient, activated, weights, result[2]);
    } else if (shape.bias_gradient && context->needs_input_grad(2)) {
      result[2] = convolution.backward_bias(gradient, activated);
    }
    if (by_residual) result[3] = gradient;
    return result;
  }
};

bool fits(const ConvBlockArguments& arguments, at::ScalarType type) {
  // A bias in front of the norm would have to be scaled with it, and no model here has one.
  const bool one_of_both = arguments.norm == nullptr || !arguments.bias;
  return one_of_both && arguments.input.numel() > 0 &&
         (type == at::kFloat || type == at::kBFloat16) &&
         arguments.weight.scalar_type() == at::kFloat;
}

template <ConvolutionAlgorithm algorithm>
at::Tensor conv_block_custom(const ConvBlockArguments& arguments) {
  if (const Int8Ranges* ranges = int8_now()) {
    return int8_conv_block(arguments, ranges->of(arguments.weight));
  }
  if (calibrated_now() != nullptr) return conv_block_operator().get("reference")(arguments);
  const at::ScalarType type = at::autocast::is_autocast_enabled(at::kCPU)
                                  ? at::autocast::get_autocast_dtype(at::kCPU)
                                  : arguments.input.scalar_type();
  Convolution* convolution =
      fits(arguments, type) ? Convolution::find(shape_of(arguments, type), algorithm) : nullptr;
  if (convolution == nullptr) return conv_block_operator().get("reference")(arguments);

  const at::Tensor& weight = arguments.weight;
  const at::Tensor input = channels_last(in_type(arguments.input, type));
  Fixed fixed{convolution};
  std::optional<at::Tensor> bias;
  std::optional<at::Tensor> residual;
  if (arguments.norm != nullptr) std::tie(fixed.scale, bias) = fold(*arguments.norm);
  if (arguments.bias) bias = in_type(*arguments.bias, at::kFloat).contiguous();
  if (arguments.residual) residual = channels_last(in_type(*arguments.residual, type));
  const auto trains = [](const std::optional<at::Tensor>& t) { return t && t->requires_grad(); };
  const bool trained = at::GradMode::is_enabled() &&
                       (trains(input) || trains(weight) || trains(bias) || trains(residual));
  // Which gradients a ceiling stops is not kept here: nothing that is trained has one.
  if (trained && convolution->shape().clipped()) {
    return conv_block_operator().get("reference")(arguments);
  }
  const KernelScope scope("conv-block");
  if (trained) {
    return ConvBlockFunction::apply(input, weight, bias, residual, fixed);
  }
  return convolution->forward(input, {weight, fixed.scale}, bias.value_or(at::Tensor()),
                              residual.value_or(at::Tensor()));
}

}  // namespace

const Register<ConvBlockFn> registered_conv_block_custom{
    conv_block_operator(),
    {"custom",
     "norm, residual and ReLU fused; for each shape and pass the kernel that a table names.",
     conv_block_custom<ConvolutionAlgorithm::kTuned>, always_supported, true}};
const Register<ConvBlockFn> registered_conv_block_direct{
    conv_block_operator(),
    {"direct", "As custom, by oneDNN primitives and own kernels for grouped ones; no Winograd.",
     conv_block_custom<ConvolutionAlgorithm::kDirect>}};
const Register<ConvBlockFn> registered_conv_block_winograd{
    conv_block_operator(),
    {"winograd", "As direct, but 3x3 of stride 1 by Winograd's minimal filtering.",
     conv_block_custom<ConvolutionAlgorithm::kWinograd>}};

}  // namespace harness::kernels
