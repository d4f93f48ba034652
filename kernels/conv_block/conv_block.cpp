#include "kernels/conv_block/conv_block.hpp"

#include "kernels/int8/int8.hpp"

namespace harness::kernels {
namespace {

// The composition that eager PyTorch runs for torchvision's modules. What it does in place there is
// in place here: after a norm the block owns its buffer, while nn.ReLU of the heads allocates.
at::Tensor composed(const ConvBlockArguments& arguments) {
  at::Tensor out = at::conv2d(arguments.input, arguments.weight, arguments.bias,
                              {arguments.stride, arguments.stride},
                              {arguments.padding, arguments.padding}, {1, 1}, arguments.groups);
  const FrozenBatchNorm* norm = arguments.norm;
  if (norm != nullptr) {
    const auto per_channel = [](const at::Tensor& values) { return values.reshape({1, -1, 1, 1}); };
    const at::Tensor scale =
        per_channel(norm->weight) * (per_channel(norm->running_var) + norm->eps).rsqrt();
    const at::Tensor shift = per_channel(norm->bias) - per_channel(norm->running_mean) * scale;
    out = out * scale + shift;
  }
  if (arguments.residual) out.add_(*arguments.residual);
  if (!arguments.relu) return out;
  if (arguments.ceiling != kNoCeiling) return at::hardtanh_(out, 0, arguments.ceiling);
  return norm != nullptr || arguments.residual ? out.relu_() : out.relu();
}

at::Tensor conv_block_reference(const ConvBlockArguments& arguments) {
  if (const Int8Ranges* ranges = int8_now()) {
    return int8_conv_block_reference(arguments, ranges->of(arguments.weight));
  }
  at::Tensor out = composed(arguments);
  if (Int8Ranges* ranges = calibrated_now()) ranges->hold(arguments.weight, arguments.input, out);
  return out;
}

}  // namespace

Operator<ConvBlockFn>& conv_block_operator() {
  static Operator<ConvBlockFn> instance{
      "conv-block", "Convolution with bias or frozen batch norm, residual add and ReLU."};
  return instance;
}

const Register<ConvBlockFn> registered_conv_block{
    conv_block_operator(),
    {"reference", "One ATen operator after another, as eager PyTorch runs it.",
     conv_block_reference}};

}  // namespace harness::kernels
