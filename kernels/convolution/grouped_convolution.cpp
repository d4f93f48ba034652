// Our grouped kernels behind the interface that all convolutions share.
#include <ATen/ATen.h>

#include "kernels/convolution/convolution.hpp"
#include "kernels/convolution/grouped.hpp"
#include "kernels/convolution/prepared_weights.hpp"
#include "kernels/runtime/stages.hpp"

namespace harness::kernels {
namespace {

const float* floats_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}

const void* data_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

class GroupedConvolution final : public Convolution {
 public:
  GroupedConvolution(const ConvolutionShape& shape, const GroupedConvShape& grouped)
      : Convolution(shape), grouped_(grouped) {}

  at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                     const at::Tensor& bias, const at::Tensor& /*residual*/) override {
    const at::Tensor packed = pack(weights, WeightForm::Own::kGroupedForward);
    at::Tensor output = empty_output();
    const Stage stage("convolution");
    grouped_forward(grouped_, input.const_data_ptr(), packed.const_data_ptr<float>(),
                    floats_or_null(bias), shape().relu, output.data_ptr());
    return output;
  }

  bool applies_mask() const override { return true; }

  at::Tensor backward_data(const at::Tensor& grad_output, const at::Tensor& activated,
                           const ConvolutionWeights& weights) override {
    const at::Tensor packed = pack(weights, WeightForm::Own::kGroupedData);
    at::Tensor grad_input = empty_input();
    const Stage stage("convolution");
    grouped_backward_data(grouped_, grad_output.const_data_ptr(), data_or_null(activated),
                          packed.const_data_ptr<float>(), grad_input.data_ptr());
    return grad_input;
  }

  at::Tensor backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                              const at::Tensor& activated, const ConvolutionWeights& weights,
                              const at::Tensor& /*grad_bias*/) override {
    at::Tensor gradient = empty_weights();
    const Stage stage("convolution");
    grouped_backward_weights(grouped_, input.const_data_ptr(), grad_output.const_data_ptr(),
                             data_or_null(activated), floats_or_null(weights.scale),
                             gradient.data_ptr<float>());
    return gradient;
  }

  std::string description() override { return "grouped:avx512 in all directions"; }

 private:
  at::Tensor pack(const ConvolutionWeights& weights, WeightForm::Own form) const {
    return prepared_weights(weights, {.own = form}, [&] {
      const at::Tensor source = weights.weight.contiguous(at::MemoryFormat::ChannelsLast);
      at::Tensor packed =
          at::empty({static_cast<int64_t>(packed_weight_count(grouped_))}, at::kFloat);
      pack_grouped_weights(grouped_, source.const_data_ptr<float>(), floats_or_null(weights.scale),
                           form == WeightForm::Own::kGroupedData, packed.data_ptr<float>());
      return packed;
    });
  }

  GroupedConvShape grouped_;
};

}  // namespace

bool grouped_conv_supported(const GroupedConvShape& shape) {
#if defined(__x86_64__)
  const int64_t group = shape.group_channels;
  const bool known_group = group == 4 || group == 8 || group == 16 || group == 32;
  return known_group && (shape.stride == 1 || shape.stride == 2) && shape.channels % 16 == 0 &&
         shape.channels % group == 0 && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0;
#else
  return shape.channels < 0;
#endif
}

std::unique_ptr<Convolution> make_grouped_convolution(const ConvolutionShape& shape) {
  const GroupedConvShape grouped{.batch = shape.batch,
                                 .channels = shape.in_channels,
                                 .in_height = shape.in_height,
                                 .in_width = shape.in_width,
                                 .group_channels = shape.in_channels / shape.groups,
                                 .stride = shape.stride,
                                 .bf16 = shape.type == at::kBFloat16};
  const bool fits = shape.groups > 1 && shape.in_channels == shape.out_channels &&
                    shape.kernel_height == 3 && shape.kernel_width == 3 && shape.padding == 1 &&
                    !shape.bias_gradient && !shape.residual;
  if (!fits || !grouped_conv_supported(grouped)) return nullptr;
  return std::make_unique<GroupedConvolution>(shape, grouped);
}

}  // namespace harness::kernels
