// What int8 means, in ATen's operators.
#include "kernels/int8/int8.hpp"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <tuple>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/convolution/folded_norm.hpp"
#include "kernels/convolution/prepared_weights.hpp"

namespace harness::kernels {
namespace {

at::Tensor scaled(const ConvolutionWeights& weights) {
  const at::Tensor values = weights.weight.detach().to(at::kFloat);
  return weights.scale.defined() ? values * weights.scale.view({-1, 1, 1, 1}) : values;
}

/// Newer LibTorch announces that tensors which know their scale will go one day; nobody who
/// measures can do anything about that. They are made in this file alone.
class Unwarned {
 public:
  Unwarned() : guard_(&handler_) {}

 private:
  class Silent : public c10::WarningHandler {
    void process(const c10::Warning& /*warning*/) override {}
  };
  Silent handler_{};
  c10::WarningUtils::WarningHandlerGuard guard_;
};

at::Tensor over_outputs(const at::Tensor& scales, const at::Tensor& like) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(like.dim()), 1);
  shape.front() = -1;
  return scales.view(shape);
}

/// (O): the largest sum of two neighbours of one sign, in the order in which they are multiplied:
/// channel by channel of a position. Of an even number of channels the first and second of two are
/// neighbours; of an odd one they may be any, across positions too.
at::Tensor largest_pairs(const at::Tensor& values) {
  const at::Tensor last = values.dim() == 4 ? values.permute({0, 2, 3, 1}) : values;
  const at::Tensor row = last.reshape({values.size(0), -1});
  const std::int64_t count = row.size(1);
  const std::int64_t step = values.size(1) % 2 == 0 ? 2 : 1;
  if (count < 2) return row.abs().amax(1);
  const at::Tensor first = row.slice(1, 0, count - 1, step);
  const at::Tensor second = row.slice(1, 1, count, step);
  const at::Tensor sums = at::maximum(first.clamp_min(0) + second.clamp_min(0),
                                      (first.clamp_max(0) + second.clamp_max(0)).neg());
  return sums.amax(1);
}

/// The weights that int8 multiplies by, as float32.
at::Tensor rounded(const ConvolutionWeights& weights) {
  const Int8Weights narrow = int8_weights(weights);
  return narrow.values.to(at::kFloat) * over_outputs(narrow.scales, narrow.values);
}

}  // namespace

Int8Weights int8_weights(const ConvolutionWeights& weights) {
  Int8Weights result;
  result.scales = prepared_weights(weights, {.own = WeightForm::Own::kInt8Scales}, [&] {
    const at::Tensor values = scaled(weights);
    at::Tensor scales = values.reshape({values.size(0), -1}).abs().amax(1) / kLargestWeight;
    // Depthwise kernels multiply one channel, and widen what they multiply.
    if (!adds_in_32_bits() && values.size(1) > 1) {
      // Each of two may be rounded up by half a step.
      constexpr double kBeforeRounding = kLargestPair - 0.6;
      scales = at::maximum(scales, largest_pairs(values) / kBeforeRounding);
    }
    // A channel of zeros has any scale.
    return at::where(scales > 0, scales, at::ones_like(scales)).contiguous();
  });
  result.values = prepared_weights(weights, {.own = WeightForm::Own::kInt8Values}, [&] {
    const at::Tensor values = scaled(weights);
    return (values / over_outputs(result.scales, values))
        .round()
        .clamp(-kLargestWeight, kLargestWeight)
        .to(at::kChar)
        .contiguous(values.dim() == 4 ? at::MemoryFormat::ChannelsLast
                                      : at::MemoryFormat::Contiguous);
  });
  return result;
}

at::Tensor quantised(const at::Tensor& values, const Affine& affine) {
  if (values.is_quantized()) return values;
  const Unwarned unwarned;
  return at::quantize_per_tensor(values.to(at::kFloat), affine.scale, affine.zero, at::kQUInt8);
}

at::Tensor empty_quantised(at::IntArrayRef sizes, const Affine& affine, at::MemoryFormat format) {
  const Unwarned unwarned;
  return at::_empty_affine_quantized(sizes, at::TensorOptions(at::kQUInt8), affine.scale,
                                     affine.zero, format);
}

at::Tensor as_floats(const at::Tensor& values) {
  return values.is_quantized() ? values.dequantize() : values.to(at::kFloat);
}

Affine affine_of(const at::Tensor& quantised) {
  return {static_cast<float>(quantised.q_scale()),
          static_cast<std::int32_t>(quantised.q_zero_point())};
}

at::Tensor int8_conv_block_reference(const ConvBlockArguments& arguments,
                                     const LayerRanges& ranges) {
  ConvolutionWeights weights{arguments.weight, {}};
  std::optional<at::Tensor> bias = arguments.bias;
  if (arguments.norm != nullptr) {
    require(!bias, "conv-block: int8 takes a bias or a norm");
    std::tie(weights.scale, bias) = fold(*arguments.norm);
  }
  at::Tensor out = at::conv2d(quantised(arguments.input, affine_of(ranges.input)).dequantize(),
                              rounded(weights), bias, {arguments.stride, arguments.stride},
                              {arguments.padding, arguments.padding}, {1, 1}, arguments.groups);
  if (arguments.residual) out.add_(as_floats(*arguments.residual));
  if (arguments.relu) at::hardtanh_(out, 0, arguments.ceiling);
  return arguments.narrow_output ? quantised(out, affine_of(ranges.output)) : out;
}

at::Tensor int8_linear_reference(const Int8Linear& arguments, const LayerRanges& ranges) {
  const at::Tensor input = quantised(arguments.input, affine_of(ranges.input)).dequantize();
  at::Tensor out = at::linear(input, rounded({arguments.weight, {}}), arguments.bias);
  if (arguments.gelu) out = at::gelu(out);
  if (arguments.residual) out = out + *arguments.residual;
  return arguments.narrow_output ? quantised(out, affine_of(ranges.output)) : out;
}

}  // namespace harness::kernels
