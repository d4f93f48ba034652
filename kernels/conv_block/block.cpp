#include "kernels/conv_block/block.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/PhiloxRNGEngine.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace harness::kernels {
namespace {

/// About normally distributed: a sum of four uniform numbers, of mean 0 and variance 1.
float about_normal(at::Philox4_32& random) {
  constexpr float kMean = 4 * 65535 / 2.0F;
  constexpr float kDeviation = 37837.23F;  // sqrt(4 (65536^2 - 1) / 12)
  const std::uint32_t one = random();
  const std::uint32_t other = random();
  const std::uint32_t sum = (one & 0xFFFF) + (one >> 16) + (other & 0xFFFF) + (other >> 16);
  return (static_cast<float>(sum) - kMean) / kDeviation;
}

/// Filled by all threads, with the same numbers however many they are. at::randn draws one by one,
/// which took more than a second of each start.
at::Tensor channels_last(at::IntArrayRef sizes) {
  at::Tensor filled =
      at::empty(sizes, at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  const auto key = static_cast<std::uint64_t>(
      at::randint(std::numeric_limits<std::int64_t>::max(), {}, at::kLong).item<std::int64_t>());
  float* values = filled.mutable_data_ptr<float>();
  const std::int64_t count = filled.numel();
  constexpr std::int64_t kBlock = 1 << 14;
  at::parallel_for(0, (count + kBlock - 1) / kBlock, 1, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t block = first; block < end; ++block) {
      at::Philox4_32 random(key, static_cast<std::uint64_t>(block));
      const std::int64_t begin = block * kBlock;
      std::generate(values + begin, values + std::min(begin + kBlock, count),
                    [&random] { return about_normal(random); });
    }
  });
  return filled;
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
