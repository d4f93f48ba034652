// conv-block in int8 by oneDNN's primitives. Zero points are taken out of the products: what they
// add is the same for each position, so it stands in the bias; maps whose zero is no 0 are padded
// beforehand. So a primitive sees plain integers, which every one of oneDNN's kernels takes.
#include <ATen/ATen.h>

#include <cstdint>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/conv_block/shape.hpp"
#include "kernels/convolution/engine.hpp"
#include "kernels/convolution/folded_norm.hpp"
#include "kernels/convolution/tensor_state.hpp"
#include "kernels/int8/int8.hpp"
#include "kernels/int8/kept.hpp"
#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {
namespace {

using Memory = dnnl::memory;
using Tag = Memory::format_tag;
using Type = Memory::data_type;

/// Everything that a primitive and its constants depend on, but the parameters.
struct Problem {
  ConvolutionShape shape{};
  Affine input{};
  std::optional<Affine> output{};           ///< absent: float32
  std::optional<Affine> narrow_residual{};  ///< of one that is quantised
  bool operator==(const Problem&) const = default;
};

Memory::desc residual_of(const ConvolutionShape& s) {
  return {{s.batch, s.out_channels, s.out_height(), s.out_width()}, Type::f32, Tag::nhwc};
}

/// What stands behind the products. A quantised residual is there already, where the output goes.
dnnl::primitive_attr behind(const Problem& problem) {
  const ConvolutionShape& s = problem.shape;
  dnnl::primitive_attr attributes = scratchpad_attributes();
  attributes.set_scales_mask(DNNL_ARG_WEIGHTS, s.groups == 1 ? 1 : 3);
  dnnl::post_ops steps;
  if (problem.narrow_residual) {
    steps.append_sum(problem.narrow_residual->scale, 0, Type::u8);
  } else if (s.residual) {
    steps.append_binary(dnnl::algorithm::binary_add, residual_of(s));
  }
  if (s.clipped()) {
    steps.append_eltwise(dnnl::algorithm::eltwise_clip, 0, static_cast<float>(s.ceiling));
  } else if (s.relu) {
    steps.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
  }
  if (problem.output) {
    steps.append_eltwise(dnnl::algorithm::eltwise_linear, 1 / problem.output->scale,
                         static_cast<float>(problem.output->zero));
  }
  attributes.set_post_ops(steps);
  return attributes;
}

Memory::dims weight_dims(const ConvolutionShape& s) {
  const int64_t in = s.in_channels / s.groups;
  if (s.groups == 1) return {s.out_channels, in, s.kernel_height, s.kernel_width};
  return {s.groups, s.out_channels / s.groups, in, s.kernel_height, s.kernel_width};
}

dnnl::convolution_forward::primitive_desc describe(const Problem& problem) {
  const ConvolutionShape& s = problem.shape;
  // Where the input's zero is an integer above 0, it comes with its padding.
  const int64_t padded = problem.input.zero != 0 ? s.padding : 0;
  const int64_t left = s.padding - padded;
  return {engine(),
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::convolution_direct,
          Memory::desc({s.batch, s.in_channels, s.in_height + 2 * padded, s.in_width + 2 * padded},
                       Type::u8, Tag::nhwc),
          Memory::desc(weight_dims(s), Type::s8, Tag::any),
          Memory::desc({s.out_channels}, Type::f32, Tag::a),
          Memory::desc({s.batch, s.out_channels, s.out_height(), s.out_width()},
                       problem.output ? Type::u8 : Type::f32, Tag::nhwc),
          {s.stride, s.stride},
          {left, left},
          {left, left},
          behind(problem)};
}

/// Bytes of a map (N, H + 2 by, W + 2 by, C): those of `map`, and `zero` around them.
at::Tensor with_border(const at::Tensor& map, int64_t by, int zero) {
  const int64_t rows = map.size(2);
  const int64_t row = map.size(3) * map.size(1);
  const int64_t side = by * map.size(1);
  const int64_t wide_row = row + 2 * side;
  const int64_t wide_rows = rows + 2 * by;
  at::Tensor wide = at::empty({map.size(0) * wide_rows * wide_row}, at::kByte);
  const auto* const from = static_cast<const std::uint8_t*>(map.const_data_ptr());
  auto* const to = wide.mutable_data_ptr<std::uint8_t>();
#pragma omp parallel for schedule(static) if (wide.numel() > 16384)
  for (int64_t i = 0; i < map.size(0) * wide_rows; ++i) {
    std::uint8_t* const place = to + i * wide_row;
    const int64_t y = i % wide_rows - by;
    std::memset(place, zero, static_cast<std::size_t>(wide_row));
    if (y < 0 || y >= rows) continue;
    std::memcpy(place + side, from + ((i / wide_rows) * rows + y) * row,
                static_cast<std::size_t>(row));
  }
  return wide;
}

class Int8Convolution {
 public:
  using Problem = kernels::Problem;

  Int8Convolution(const Problem& problem, const ConvolutionWeights& weights, const at::Tensor& bias)
      : problem_(problem), description_(describe(problem)), primitive_(description_) {
    const Int8Weights narrow = int8_weights(weights);
    const KeepingScope keeping;
    const ConvolutionShape& s = problem_.shape;
    weights_ = int8_in_layout(weights, narrow.values,
                              {weight_dims(s), Type::s8, s.groups == 1 ? Tag::ohwi : Tag::gohwi},
                              description_.weights_desc());
    scales_ = narrow.scales * problem_.input.scale;
    const at::Tensor sums = narrow.values.to(at::kDouble).sum({1, 2, 3});
    at::Tensor constant = sums.mul(scales_).mul(-problem_.input.zero);
    if (bias.defined()) constant += bias;
    if (problem_.narrow_residual) {
      constant -=
          static_cast<double>(problem_.narrow_residual->scale) * problem_.narrow_residual->zero;
    }
    bias_ = constant.to(at::kFloat).contiguous();
  }

  const Problem& problem() const { return problem_; }

  /// `input` is quantised, channels_last; `residual` undefined, float32 or quantised.
  at::Tensor run(const at::Tensor& input, const at::Tensor& residual) const {
    const bool bordered = problem_.input.zero != 0 && problem_.shape.padding > 0;
    const at::Tensor bytes =
        bordered ? with_border(input, problem_.shape.padding, problem_.input.zero) : input;
    at::Tensor output = empty_output();
    std::unordered_map<int, Memory> arguments{
        {DNNL_ARG_SRC, as_memory(description_.src_desc(), bytes)},
        {DNNL_ARG_WEIGHTS, as_memory(description_.weights_desc(), weights_)},
        {DNNL_ARG_BIAS, as_memory(description_.bias_desc(), bias_)},
        {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS,
         as_memory({{problem_.shape.out_channels}, Type::f32, Tag::a}, scales_)},
        {DNNL_ARG_DST, as_memory(description_.dst_desc(), output)}};
    if (problem_.narrow_residual) {
      std::memcpy(output.mutable_data_ptr(), residual.const_data_ptr(), residual.nbytes());
    } else if (residual.defined()) {
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                        as_memory(residual_of(problem_.shape), residual));
    }
    execute(primitive_, std::move(arguments), description_.scratchpad_desc());
    return output;
  }

 private:
  at::Tensor empty_output() const {
    const ConvolutionShape& s = problem_.shape;
    const std::vector<int64_t> sizes{s.batch, s.out_channels, s.out_height(), s.out_width()};
    if (!problem_.output) {
      return at::empty(sizes,
                       at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
    }
    return empty_quantised(sizes, *problem_.output, at::MemoryFormat::ChannelsLast);
  }

  Problem problem_;
  dnnl::convolution_forward::primitive_desc description_;
  dnnl::convolution_forward primitive_;
  at::Tensor weights_{}, scales_{}, bias_{};
};

}  // namespace

at::Tensor int8_conv_block(const ConvBlockArguments& arguments, const LayerRanges& ranges) {
  ConvolutionWeights weights{arguments.weight, {}};
  at::Tensor bias = arguments.bias.value_or(at::Tensor());
  if (arguments.norm != nullptr) {
    require(!bias.defined(), "conv-block: int8 takes a bias or a norm");
    std::tie(weights.scale, bias) = fold(*arguments.norm);
  }
  const auto last = [](const at::Tensor& t) {
    return t.contiguous(at::MemoryFormat::ChannelsLast);
  };
  const ConvolutionShape shape = shape_of(arguments, at::kByte);
  require(arguments.input.numel() > 0, "conv-block: int8 takes at least one map");
  const at::Tensor input = quantised(last(arguments.input), affine_of(ranges.input));
  Problem problem{.shape = shape, .input = affine_of(input)};
  if (arguments.narrow_output) problem.output = affine_of(ranges.output);
  at::Tensor residual;
  if (arguments.residual) {
    // Beside a float32 output there is no room for one of eight bits.
    const bool stays = arguments.residual->is_quantized() && problem.output;
    residual = last(stays ? *arguments.residual : as_floats(*arguments.residual));
    if (stays) problem.narrow_residual = affine_of(residual);
  }
  const KernelScope scope("conv-block");
  // Never destroyed, as what is kept in prepared_weights.cpp.
  static auto* const kept = new KeptKernels<Int8Convolution>();
  return kept->find(problem, weights, bias)->run(input, residual);
}

}  // namespace harness::kernels
