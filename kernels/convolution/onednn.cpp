// Convolutions as oneDNN primitives. Weights, and gradients by them, lie in blocked layouts of
// oneDNN's choice.
#include <ATen/ATen.h>

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <utility>

#include "kernels/convolution/engine.hpp"
#include "kernels/convolution/kernel.hpp"
#include "kernels/convolution/onednn_weights.hpp"
#include "kernels/runtime/stages.hpp"

namespace harness::kernels {
namespace {

using Memory = dnnl::memory;
using Tag = dnnl::memory::format_tag;

Memory::desc input_of(const ConvolutionShape& s) {
  return {{s.batch, s.in_channels, s.in_height, s.in_width}, data_type_of(s.type), Tag::nhwc};
}

Memory::desc output_of(const ConvolutionShape& s) {
  return {
      {s.batch, s.out_channels, s.out_height(), s.out_width()}, data_type_of(s.type), Tag::nhwc};
}

Memory::desc any_weights(const ConvolutionShape& s, Memory::data_type type) {
  return {weight_dims(s), type, Tag::any};
}

Memory::desc bias_of(const ConvolutionShape& s, bool there) {
  return there ? Memory::desc({s.out_channels}, Memory::data_type::f32, Tag::a) : Memory::desc();
}

dnnl::primitive_attr fused(const ConvolutionShape& s) {
  dnnl::primitive_attr attributes = scratchpad_attributes();
  dnnl::post_ops behind;
  if (s.residual) behind.append_binary(dnnl::algorithm::binary_add, output_of(s));
  if (s.clipped()) {
    behind.append_eltwise(dnnl::algorithm::eltwise_clip, 0, static_cast<float>(s.ceiling));
  } else if (s.relu) {
    behind.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
  }
  attributes.set_post_ops(behind);
  return attributes;
}

Memory::dims both(int64_t value) { return {value, value}; }

dnnl::convolution_forward::primitive_desc describe_forward(const ConvolutionShape& s,
                                                           dnnl::prop_kind kind) {
  const bool for_itself = kind == dnnl::prop_kind::forward_inference;  // else a hint for backward
  return {engine(),
          kind,
          dnnl::algorithm::convolution_direct,
          input_of(s),
          any_weights(s, data_type_of(s.type)),
          bias_of(s, for_itself ? s.bias : s.bias_gradient),
          output_of(s),
          both(s.stride),
          both(s.padding),
          both(s.padding),
          for_itself ? fused(s) : dnnl::primitive_attr()};
}

class OnednnConvolution final : public ConvolutionKernel {
 public:
  // Forward is asked for as inference: training and inference differ in oneDNN by what it may
  // choose, not by what a convolution computes.
  OnednnConvolution(const ConvolutionShape& s, const ConvolutionPasses& passes)
      : ConvolutionKernel(s) {
    if (passes.contains(ConvolutionPass::kForward)) {
      forward_ = describe_forward(s, dnnl::prop_kind::forward_inference);
      run_forward_ = dnnl::convolution_forward(forward_);
      forward_weights_.emplace(s, forward_.weights_desc());
    }
    const bool data = passes.contains(ConvolutionPass::kData);
    const bool weights = passes.contains(ConvolutionPass::kWeights);
    if (!data && !weights) return;
    const auto hint = describe_forward(s, dnnl::prop_kind::forward_training);
    if (data) make_data_gradient(s, hint);
    if (weights) make_weights_gradient(s, hint);
  }

  at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                     const at::Tensor& bias, const at::Tensor& residual) override {
    const at::Tensor prepared = forward_weights_->of(weights);
    at::Tensor output = empty_output();
    std::unordered_map<int, Memory> arguments{
        {DNNL_ARG_SRC, as_memory(forward_.src_desc(), input)},
        {DNNL_ARG_WEIGHTS, as_memory(forward_.weights_desc(), prepared)},
        {DNNL_ARG_DST, as_memory(forward_.dst_desc(), output)}};
    if (shape().bias) arguments.emplace(DNNL_ARG_BIAS, as_memory(forward_.bias_desc(), bias));
    if (shape().residual) {
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                        as_memory(output_of(shape()), residual));
    }
    execute(run_forward_, std::move(arguments), forward_.scratchpad_desc());
    return output;
  }

  at::Tensor backward_data(const at::Tensor& grad_output, const at::Tensor& /*activated*/,
                           const ConvolutionWeights& weights) override {
    const at::Tensor prepared = data_weights_->of(weights);
    at::Tensor grad_input = empty_input();
    execute(run_data_,
            {{DNNL_ARG_DIFF_DST, as_memory(data_.diff_dst_desc(), grad_output)},
             {DNNL_ARG_WEIGHTS, as_memory(data_.weights_desc(), prepared)},
             {DNNL_ARG_DIFF_SRC, as_memory(data_.diff_src_desc(), grad_input)}},
            data_.scratchpad_desc());
    return grad_input;
  }

  at::Tensor backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                              const at::Tensor& /*activated*/, const ConvolutionWeights& weights,
                              const at::Tensor& grad_bias) override {
    at::Tensor gradient = empty_weights();
    at::Tensor blocked = gradient;
    if (unpack_) {
      const auto bytes = static_cast<int64_t>(weights_.diff_weights_desc().get_size());
      blocked = at::empty({bytes}, at::kByte);
    }
    Memory blocked_memory = as_memory(weights_.diff_weights_desc(), blocked);
    std::unordered_map<int, Memory> arguments{
        {DNNL_ARG_SRC, as_memory(weights_.src_desc(), input)},
        {DNNL_ARG_DIFF_DST, as_memory(weights_.diff_dst_desc(), grad_output)},
        {DNNL_ARG_DIFF_WEIGHTS, blocked_memory}};
    if (shape().bias_gradient) {
      arguments.emplace(DNNL_ARG_DIFF_BIAS, as_memory(weights_.diff_bias_desc(), grad_bias));
    }
    execute(run_weights_, std::move(arguments), weights_.scratchpad_desc());
    const Stage stage("unpack");
    if (unpack_) {
      Memory plain_memory = as_memory(plain_weights(shape()), gradient);
      unpack_->execute(stream(), blocked_memory, plain_memory);
    }
    if (weights.scale.defined()) gradient.mul_(weights.scale.view({-1, 1, 1, 1}));
    return gradient;
  }

  std::string implementation(ConvolutionPass pass) const override {
    switch (pass) {
      case ConvolutionPass::kForward:
        return forward_.impl_info_str();
      case ConvolutionPass::kData:
        return data_.impl_info_str();
      default:
        return weights_.impl_info_str();
    }
  }

 private:
  using Hint = dnnl::convolution_forward::primitive_desc;

  void make_data_gradient(const ConvolutionShape& s, const Hint& hint) {
    data_ = {engine(),
             dnnl::algorithm::convolution_direct,
             input_of(s),
             any_weights(s, data_type_of(s.type)),
             output_of(s),
             both(s.stride),
             both(s.padding),
             both(s.padding),
             hint,
             scratchpad_attributes()};
    run_data_ = dnnl::convolution_backward_data(data_);
    data_weights_.emplace(s, data_.weights_desc());
  }

  void make_weights_gradient(const ConvolutionShape& s, const Hint& hint) {
    weights_ = {engine(),
                dnnl::algorithm::convolution_direct,
                input_of(s),
                any_weights(s, Memory::data_type::f32),
                bias_of(s, s.bias_gradient),
                output_of(s),
                both(s.stride),
                both(s.padding),
                both(s.padding),
                hint,
                scratchpad_attributes()};
    run_weights_ = dnnl::convolution_backward_weights(weights_);
    const Memory::desc plain = plain_weights(s);
    if (weights_.diff_weights_desc() != plain) {
      unpack_ = dnnl::reorder(
          dnnl::reorder::primitive_desc(engine(), weights_.diff_weights_desc(), engine(), plain));
    }
  }

  // Empty where a pass was not asked for.
  dnnl::convolution_forward::primitive_desc forward_{};
  dnnl::convolution_backward_data::primitive_desc data_{};
  dnnl::convolution_backward_weights::primitive_desc weights_{};
  dnnl::convolution_forward run_forward_{};
  dnnl::convolution_backward_data run_data_{};
  dnnl::convolution_backward_weights run_weights_{};
  std::optional<WeightPacking> forward_weights_{};
  std::optional<WeightPacking> data_weights_{};
  std::optional<dnnl::reorder> unpack_;  ///< from the gradient's layout to the parameter's
};

bool computes(const ConvolutionShape& /*shape*/, ConvolutionPass /*pass*/) { return true; }

std::unique_ptr<ConvolutionKernel> make(const ConvolutionShape& shape,
                                        const ConvolutionPasses& passes) {
  try {
    return std::make_unique<OnednnConvolution>(shape, passes);
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
    return nullptr;
  }
}

const RegisterConvolutionKernel registered({"onednn", computes, nullptr, make});

}  // namespace

std::string onednn_instruction_set() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "avx512_core_fp16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    case dnnl::cpu_isa::avx512_core_amx_fp16:
      return "avx512_core_amx_fp16";
    default:
      return "default";
  }
}

}  // namespace harness::kernels
