// Our depthwise kernel behind the interface that all convolutions share.
#include <ATen/ATen.h>

#include <memory>
#include <string>

#include "kernels/convolution/depthwise.hpp"
#include "kernels/convolution/kernel.hpp"
#include "kernels/convolution/prepared_weights.hpp"
#include "kernels/runtime/stages.hpp"

namespace harness::kernels {
namespace {

class DepthwiseConvolution final : public ConvolutionKernel {
 public:
  explicit DepthwiseConvolution(const ConvolutionShape& s) : ConvolutionKernel(s) {
    convolution_.shape = {.batch = s.batch,
                          .channels = s.in_channels,
                          .in_height = s.in_height,
                          .in_width = s.in_width,
                          .stride = s.stride};
    if (s.relu) {
      convolution_.low = 0;
      convolution_.high = static_cast<float>(s.ceiling);
    }
  }

  at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                     const at::Tensor& bias, const at::Tensor& /*residual*/) override {
    const at::Tensor by_tap = prepared_weights(weights, {.own = WeightForm::Own::kDepthwise}, [&] {
      const at::Tensor source = weights.weight.detach().reshape({shape().out_channels, 9}).t();
      return (weights.scale.defined() ? source * weights.scale : source).contiguous();
    });
    at::Tensor output = empty_output();
    const Stage stage("convolution");
    const KernelScope scope("depthwise.forward", [&] {
      return convolution_facts(shape(), depthwise_name(), "forward_training");
    });
    Depthwise convolution = convolution_;
    convolution.input = input.const_data_ptr<float>();
    convolution.weights = by_tap.const_data_ptr<float>();
    convolution.bias = floats_or_null(bias);
    convolution.output = output.mutable_data_ptr<float>();
    convolve_depthwise(convolution);
    return output;
  }

  std::string implementation(ConvolutionPass /*pass*/) const override { return depthwise_name(); }

 private:
  Depthwise convolution_{};  ///< all but where things lie
};

bool computes(const ConvolutionShape& s, ConvolutionPass pass) {
  return pass == ConvolutionPass::kForward && s.type == at::kFloat && s.groups == s.in_channels &&
         s.out_channels == s.in_channels && s.kernel_height == 3 && s.kernel_width == 3 &&
         (s.stride == 1 || s.stride == 2) && s.padding == 1 && !s.residual;
}

std::unique_ptr<ConvolutionKernel> make(const ConvolutionShape& shape,
                                        const ConvolutionPasses& /*passes*/) {
  return std::make_unique<DepthwiseConvolution>(shape);
}

const RegisterConvolutionKernel registered({"depthwise", computes, nullptr, make});

}  // namespace
}  // namespace harness::kernels
