// Zero points are taken out of the products: what they add is the same for each position, so it
// stands in the bias; maps whose zero is no 0 are padded beforehand. So a primitive sees plain
// integers, which every one of oneDNN's kernels takes.
#include "kernels/int8/convolution.hpp"

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
#include "kernels/convolution/onednn_weights.hpp"
#include "kernels/convolution/tensor_state.hpp"
#include "kernels/int8/int8.hpp"
#include "kernels/int8/kept.hpp"
#include "kernels/runtime/profiler.hpp"
#include "kernels/runtime/stages.hpp"

namespace harness::kernels {
namespace {

using Memory = dnnl::memory;
using Tag = Memory::format_tag;
using Type = Memory::data_type;

Memory::desc residual_of(const ConvolutionShape& s) {
  return {{s.batch, s.out_channels, s.out_height(), s.out_width()}, Type::f32, Tag::nhwc};
}

/// What stands behind the products. A quantised residual is there already, where the output goes.
dnnl::primitive_attr behind(const Int8Problem& problem) {
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

dnnl::convolution_forward::primitive_desc describe(const Int8Problem& problem) {
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

/// To a map (N, H + 2 by, W + 2 by, C) of bytes: those of the input, and `zero` around them.
void with_border(const ConvolutionShape& s, int zero, const void* input, void* border) {
  const int64_t by = s.padding;
  const int64_t row = s.in_width * s.in_channels;
  const int64_t side = by * s.in_channels;
  const int64_t wide_row = row + 2 * side;
  const int64_t wide_rows = s.in_height + 2 * by;
  const int64_t all = s.batch * wide_rows;
  const auto* const from = static_cast<const std::uint8_t*>(input);
  auto* const to = static_cast<std::uint8_t*>(border);
#pragma omp parallel for schedule(static) if (all * wide_row > 16384)
  for (int64_t i = 0; i < all; ++i) {
    std::uint8_t* const place = to + i * wide_row;
    const int64_t y = i % wide_rows - by;
    std::memset(place, zero, static_cast<std::size_t>(wide_row));
    if (y < 0 || y >= s.in_height) continue;
    std::memcpy(place + side, from + ((i / wide_rows) * s.in_height + y) * row,
                static_cast<std::size_t>(row));
  }
}

at::Tensor bytes(std::size_t count) { return at::empty({static_cast<int64_t>(count)}, at::kByte); }

}  // namespace

Int8Convolution::Int8Convolution(const Problem& problem, const ConvolutionWeights& weights,
                                 const at::Tensor& bias)
    : problem_(problem),
      description_(describe(problem)),
      primitive_(description_),
      scratch_bytes_(description_.scratchpad_desc().get_size()),
      output_bytes_(description_.dst_desc().get_size()) {
  const bool bordered = problem_.input.zero != 0 && problem_.shape.padding > 0;
  if (bordered) border_bytes_ = description_.src_desc().get_size();
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

at::Tensor Int8Convolution::run(const at::Tensor& input, const at::Tensor& residual) const {
  const ConvolutionShape& s = problem_.shape;
  const std::vector<int64_t> sizes{s.batch, s.out_channels, s.out_height(), s.out_width()};
  at::Tensor output =
      problem_.output
          ? empty_quantised(sizes, *problem_.output, at::MemoryFormat::ChannelsLast)
          : at::empty(sizes,
                      at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  const at::Tensor border = bytes(border_bytes());
  const at::Tensor scratch = bytes(scratch_bytes());
  const Places places{.input = input.const_data_ptr(),
                      .border = border.mutable_data_ptr(),
                      .residual = residual.defined() ? residual.const_data_ptr() : nullptr,
                      .output = output.mutable_data_ptr(),
                      .scratch = scratch.mutable_data_ptr()};
  if (const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock); lock) {
    if (!call_) call_.emplace(*this, places);
    call_->move(places);
    call_->run();
  } else {
    Call(*this, places).run();
  }
  return output;
}

Int8Convolution::Call::Call(const Int8Convolution& convolution, const Places& places)
    : convolution_(&convolution) {
  constexpr std::size_t kMost = 7;
  memories_.reserve(kMost);
  arguments_.reserve(kMost);
  const auto& description = convolution.description_;
  const auto constant = [&](int argument, const Memory::desc& of, const at::Tensor& values) {
    add(argument, of, values.const_data_ptr());
  };
  // In the order of move().
  add(DNNL_ARG_SRC, description.src_desc(), nullptr);
  add(DNNL_ARG_DST, description.dst_desc(), nullptr);
  if (convolution.scratch_bytes() > 0) {
    add(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc(), nullptr);
  }
  if (convolution.adds_floats()) {
    add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, residual_of(convolution.problem_.shape),
        nullptr);
  }
  constant(DNNL_ARG_WEIGHTS, description.weights_desc(), convolution.weights_);
  constant(DNNL_ARG_BIAS, description.bias_desc(), convolution.bias_);
  constant(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS,
           {{convolution.problem_.shape.out_channels}, Type::f32, Tag::a}, convolution.scales_);
  move(places);
}

void Int8Convolution::Call::add(int argument, const Memory::desc& description, const void* place) {
  // oneDNN does not write what it reads.
  memories_.emplace_back(description, engine(), const_cast<void*>(place));
  arguments_.push_back({argument, memories_.back().get()});
}

void Int8Convolution::Call::move(const Places& places) {
  places_ = places;
  const bool bordered = convolution_->border_bytes() > 0;
  std::size_t next = 0;
  const auto place = [&](const void* there) {
    memories_[next++].set_data_handle(const_cast<void*>(there));  // what is read is not written
  };
  place(bordered ? places.border : places.input);
  place(places.output);
  if (convolution_->scratch_bytes() > 0) place(places.scratch);
  if (convolution_->adds_floats()) place(places.residual);
}

void Int8Convolution::Call::run() const {
  const Int8Problem& problem = convolution_->problem_;
  if (convolution_->border_bytes() > 0) {
    with_border(problem.shape, problem.input.zero, places_.input, places_.border);
  }
  if (problem.narrow_residual && places_.residual != places_.output) {
    std::memcpy(places_.output, places_.residual, convolution_->output_bytes_);
  }
  const Stage stage("convolution");
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(convolution_->primitive_.get(), stream().get(),
                             static_cast<int>(arguments_.size()), arguments_.data()),
      "int8: a convolution failed");
}

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
  Int8Problem problem{.shape = shape, .input = affine_of(input)};
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
