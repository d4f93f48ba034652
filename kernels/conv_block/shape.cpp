#include "kernels/conv_block/shape.hpp"

#include "kernels/check.hpp"
#include "kernels/runtime/threads.hpp"

namespace harness::kernels {

ConvolutionShape shape_of(const ConvBlockArguments& arguments, at::ScalarType type) {
  const at::Tensor& input = arguments.input;
  const at::Tensor& weight = arguments.weight;
  require(input.dim() == 4 && weight.dim() == 4 && arguments.groups > 0 &&
              input.size(1) == weight.size(1) * arguments.groups,
          "conv-block needs an input (N, C, H, W) and weights (O, C/groups, k, k)");
  ConvolutionShape shape{.batch = input.size(0),
                         .in_channels = input.size(1),
                         .in_height = input.size(2),
                         .in_width = input.size(3),
                         .out_channels = weight.size(0),
                         .kernel_height = weight.size(2),
                         .kernel_width = weight.size(3),
                         .stride = arguments.stride,
                         .padding = arguments.padding,
                         .groups = arguments.groups,
                         .type = type,
                         .bias = arguments.bias.has_value() || arguments.norm != nullptr,
                         .bias_gradient = arguments.bias && arguments.bias->requires_grad(),
                         .relu = arguments.relu,
                         .ceiling = arguments.relu ? arguments.ceiling : kNoCeiling,
                         .residual = arguments.residual.has_value(),
                         .threads = threads()};
  const int64_t channels = shape.out_channels;
  require(channels % shape.groups == 0 && shape.stride > 0 && shape.padding >= 0 &&
              shape.out_height() > 0 && shape.out_width() > 0,
          "conv-block: groups, stride and padding leave no output");
  require(!arguments.bias || arguments.bias->sizes() == at::IntArrayRef{channels},
          "conv-block: the bias has one value an output channel");
  require(!arguments.residual ||
              arguments.residual->sizes() ==
                  at::IntArrayRef{shape.batch, channels, shape.out_height(), shape.out_width()},
          "conv-block: the residual has the output's shape");
  return shape;
}

}  // namespace harness::kernels
