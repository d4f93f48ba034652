#include "kernels/conv_block/block.hpp"

#include <cmath>
#include <vector>

namespace harness::kernels {
namespace {

at::Tensor channels_last(at::IntArrayRef sizes) {
  return at::randn(sizes).contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

ConvBlockArguments ConvBlock::arguments() const {
  return {.input = input,
          .weight = weight,
          .bias = bias,
          .norm = problem.norm ? &norm : nullptr,
          .stride = problem.stride,
          .padding = problem.padding,
          .groups = problem.groups,
          .relu = problem.relu,
          .residual = residual};
}

ConvBlock make_conv_block(const ConvProblem& p, bool bf16) {
  ConvBlock block{.problem = p};
  const auto type = bf16 ? at::kBFloat16 : at::kFloat;
  const auto fan_in = p.weight_elements() / static_cast<double>(p.out_channels);
  block.input = channels_last({p.batch, p.in_channels, p.in_height, p.in_width}).to(type);
  block.weight =
      channels_last({p.out_channels, p.in_channels / p.groups, p.kernel_height, p.kernel_width});
  block.weight.div_(std::sqrt(fan_in));
  const std::vector<std::int64_t> output{p.batch, p.out_channels, p.out_height, p.out_width};
  if (p.residual) block.residual = channels_last(output).to(type);
  if (p.bias) block.bias = at::randn({p.out_channels});
  if (p.norm) {
    const auto around = [&](double center) { return at::randn({p.out_channels}) * 0.1 + center; };
    block.norm = {around(1), around(0), around(0), around(1).abs()};
  }
  if (p.trained) {
    block.gradient = channels_last(output);
    block.input.set_requires_grad(true);
    block.weight.set_requires_grad(true);
    if (block.bias) block.bias->set_requires_grad(true);
  }
  return block;
}

}  // namespace harness::kernels
