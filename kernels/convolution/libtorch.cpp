// Convolutions by LibTorch's own operators, which bring a newer oneDNN than ours but lay out
// weights at each call: the forward pass with bias, residual and ReLU behind it where its library
// fuses them.
#include <ATen/ATen.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "kernels/convolution/kernel.hpp"
#include "kernels/convolution/prepared_weights.hpp"
#include "kernels/runtime/stages.hpp"

namespace harness::kernels {
namespace {

class LibTorchConvolution final : public ConvolutionKernel {
 public:
  explicit LibTorchConvolution(const ConvolutionShape& shape)
      : ConvolutionKernel(shape),
        strides_{shape.stride, shape.stride},
        padding_{shape.padding, shape.padding} {}

  at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                     const at::Tensor& bias, const at::Tensor& residual) override {
    const Stage stage("convolution");
    std::optional<at::Tensor> added;
    if (shape().bias) added = bias.to(shape().type);
    at::Tensor output =
        at::conv2d(input, in_type(weights), added, strides_, padding_, kDilation, shape().groups);
    if (shape().residual) output.add_(residual);
    if (shape().clipped()) {
      output.clamp_(0, shape().ceiling);
    } else if (shape().relu) {
      output.relu_();
    }
    return output.contiguous(at::MemoryFormat::ChannelsLast);
  }

  at::Tensor backward_data(const at::Tensor& grad_output, const at::Tensor& /*activated*/,
                           const ConvolutionWeights& weights) override {
    // Of the input nothing but its sizes is looked at.
    const at::Tensor gradient =
        std::get<0>(backward(grad_output, empty_input(), in_type(weights), {true, false, false}));
    return gradient.contiguous(at::MemoryFormat::ChannelsLast);
  }

  at::Tensor backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                              const at::Tensor& /*activated*/, const ConvolutionWeights& weights,
                              const at::Tensor& grad_bias) override {
    const auto [data, by_weights, by_bias] =
        backward(grad_output, input, in_type(weights), {false, true, shape().bias_gradient});
    at::Tensor gradient = by_weights.to(at::kFloat);
    if (weights.scale.defined()) gradient.mul_(weights.scale.view({-1, 1, 1, 1}));
    if (shape().bias_gradient) grad_bias.copy_(by_bias);
    return gradient.contiguous(at::MemoryFormat::ChannelsLast);
  }

  std::string implementation(ConvolutionPass /*pass*/) const override { return "libtorch"; }

 private:
  static constexpr std::array<int64_t, 2> kDilation{1, 1};

  std::tuple<at::Tensor, at::Tensor, at::Tensor> backward(const at::Tensor& grad_output,
                                                          const at::Tensor& input,
                                                          const at::Tensor& weight,
                                                          std::array<bool, 3> wanted) const {
    const Stage stage("convolution");
    return at::convolution_backward(grad_output, input, weight, at::IntArrayRef{weight.size(0)},
                                    strides_, padding_, kDilation, false, {0, 0}, shape().groups,
                                    wanted);
  }

  /// Channels_last, with the scale in it.
  at::Tensor in_type(const ConvolutionWeights& weights) const {
    if (shape().type == at::kFloat && !weights.scale.defined()) {
      return weights.weight.detach().contiguous(at::MemoryFormat::ChannelsLast);
    }
    return prepared_weights(weights, {.own = WeightForm::Own::kLibTorch}, [&] {
      const at::Tensor& source = weights.weight;
      const at::Tensor scaled =
          weights.scale.defined() ? source * weights.scale.view({-1, 1, 1, 1}) : source;
      return scaled.detach().to(shape().type).contiguous(at::MemoryFormat::ChannelsLast);
    });
  }

  std::array<int64_t, 2> strides_, padding_;
};

bool computes(const ConvolutionShape& /*shape*/, ConvolutionPass /*pass*/) { return true; }

std::unique_ptr<ConvolutionKernel> make(const ConvolutionShape& shape,
                                        const ConvolutionPasses& /*passes*/) {
  return std::make_unique<LibTorchConvolution>(shape);
}

const RegisterConvolutionKernel registered({"libtorch", computes, nullptr, make});

}  // namespace
}  // namespace harness::kernels
