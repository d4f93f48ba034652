// Winograd's kernels behind the interface that all convolutions share.
#include <ATen/ATen.h>

#include <exception>
#include <memory>
#include <string>

#include "kernels/convolution/kernel.hpp"
#include "kernels/convolution/prepared_weights.hpp"
#include "kernels/convolution/winograd.hpp"
#include "kernels/runtime/stages.hpp"

namespace harness::kernels {
namespace {

/// Undefined where there is no memory for that many.
at::Tensor floats(const ConvolutionShape& shape, std::size_t count) {
  try {
    return at::empty({static_cast<int64_t>(count)}, at::kFloat);
  } catch (const std::exception&) {
    TORCH_WARN_ONCE("no memory for the transformed tiles or weights of ", problem_of(shape),
                    ": direct convolution instead");
    return {};
  }
}

template <int tile>
class WinogradConvolution final : public ConvolutionKernel {
 public:
  explicit WinogradConvolution(const ConvolutionShape& shape)
      : ConvolutionKernel(shape),
        shape_of_pass_{.batch = shape.batch,
                       .in_channels = shape.in_channels,
                       .out_channels = shape.out_channels,
                       .in_height = shape.in_height,
                       .in_width = shape.in_width,
                       .padding = shape.padding,
                       .tile = tile,
                       .bf16 = shape.type == at::kBFloat16},
        data_(shape_of_pass_.of_gradient_by_data()) {}

  at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                     const at::Tensor& bias, const at::Tensor& residual) override {
    const at::Tensor packed = pack(weights, shape_of_pass_, WeightForm::Own::kWinogradForward);
    if (!packed.defined()) return {};
    const at::Tensor workspace = floats(shape(), winograd_workspace(shape_of_pass_));
    if (!workspace.defined()) return {};
    at::Tensor output = empty_output();
    const Stage stage("convolution");
    const KernelScope scope("winograd.forward", [&] { return facts("forward_training"); });
    winograd_convolve(
        shape_of_pass_, {input.const_data_ptr()}, packed.const_data_ptr<float>(),
        {output.data_ptr(), floats_or_null(bias), any_or_null(residual), shape().relu},
        workspace.data_ptr<float>());
    return output;
  }

  bool applies_mask() const override { return true; }

  at::Tensor backward_data(const at::Tensor& grad_output, const at::Tensor& activated,
                           const ConvolutionWeights& weights) override {
    const at::Tensor packed = pack(weights, data_, WeightForm::Own::kWinogradData);
    if (!packed.defined()) return {};
    const at::Tensor workspace = floats(shape(), winograd_workspace(data_));
    if (!workspace.defined()) return {};
    at::Tensor grad_input = empty_input();
    const Stage stage("convolution");
    const KernelScope scope("winograd.backward_data", [&] { return facts("backward_data"); });
    winograd_convolve(data_, {grad_output.const_data_ptr(), any_or_null(activated)},
                      packed.const_data_ptr<float>(), {grad_input.data_ptr()},
                      workspace.data_ptr<float>());
    return grad_input;
  }

  at::Tensor backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                              const at::Tensor& activated, const ConvolutionWeights& weights,
                              const at::Tensor& grad_bias) override {
    const at::Tensor workspace = floats(shape(), winograd_weights_workspace(shape_of_pass_));
    if (!workspace.defined()) return {};
    at::Tensor gradient = empty_weights();
    const Stage stage("convolution");
    const KernelScope scope("winograd.backward_weights", [&] { return facts("backward_weights"); });
    winograd_backward_weights(shape_of_pass_, input.const_data_ptr(),
                              {grad_output.const_data_ptr(), any_or_null(activated)},
                              floats_or_null(weights.scale), gradient.data_ptr<float>(),
                              shape().bias_gradient ? grad_bias.data_ptr<float>() : nullptr,
                              workspace.data_ptr<float>());
    return gradient;
  }

  std::string implementation(ConvolutionPass /*pass*/) const override {
    return winograd_name(tile);
  }

 private:
  KernelFacts facts(const char* direction) const {
    return convolution_facts(shape(), winograd_name(tile), direction);
  }

  /// Undefined where transformed weights would leave float's range although the weights do not, or
  /// there is no memory for them.
  at::Tensor pack(const ConvolutionWeights& weights, const WinogradShape& winograd,
                  WeightForm::Own form) const {
    return prepared_weights(weights, {.own = form, .tile = tile}, [&] {
      const at::Tensor source = weights.weight.contiguous(at::MemoryFormat::ChannelsLast);
      at::Tensor packed = floats(shape(), winograd_packed_count(winograd));
      if (!packed.defined()) return packed;
      const WinogradWeights plain{source.const_data_ptr<float>(), floats_or_null(weights.scale)};
      const bool finite = winograd_pack(winograd, plain, form == WeightForm::Own::kWinogradData,
                                        packed.data_ptr<float>());
      return finite ? packed : at::Tensor();
    });
  }

  WinogradShape shape_of_pass_;  ///< forward and by weights
  WinogradShape data_;
};

// In bf16 only beside a direct convolution, which stands in for weights that cannot be prepared.
bool computes_type(at::ScalarType type) {
  return type == at::kFloat ||
         (type == at::kBFloat16 && onednn_instruction_set().starts_with("avx512_core"));
}

bool computes(const ConvolutionShape& shape, ConvolutionPass /*pass*/) {
  return shape.groups == 1 && shape.kernel_height == 3 && shape.kernel_width == 3 &&
         shape.stride == 1 && shape.padding >= 0 && shape.padding <= 2 && !shape.clipped() &&
         computes_type(shape.type);
}

template <int tile>
std::unique_ptr<ConvolutionKernel> make(const ConvolutionShape& shape,
                                        const ConvolutionPasses& /*passes*/) {
  return std::make_unique<WinogradConvolution<tile>>(shape);
}

// The golden tolerances of the forward pass in float32, 1e-6 of the logits, leave larger tiles no
// room; those of the gradients, 2e-3, and all of bf16 do.
bool exact_but_forward(ConvolutionPass pass, at::ScalarType type) {
  return pass != ConvolutionPass::kForward || type == at::kBFloat16;
}

constexpr double work(double tile) { return (tile + 2) * (tile + 2) / (9 * tile * tile); }

const RegisterConvolutionKernel registered_2({"winograd-2x2", computes, nullptr, make<2>, nullptr,
                                              work(2)});
const RegisterConvolutionKernel registered_4({"winograd-4x4", computes, nullptr, make<4>,
                                              exact_but_forward, work(4)});
const RegisterConvolutionKernel registered_6({"winograd-6x6", computes, nullptr, make<6>,
                                              exact_but_forward, work(6)});

}  // namespace
}  // namespace harness::kernels
