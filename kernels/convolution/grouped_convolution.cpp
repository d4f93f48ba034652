// Our grouped kernels behind the interface that all convolutions share.
#include <ATen/ATen.h>

#include <memory>
#include <string>

#include "kernels/convolution/grouped.hpp"
#include "kernels/convolution/kernel.hpp"
#include "kernels/convolution/prepared_weights.hpp"
#include "kernels/runtime/stages.hpp"

namespace harness::kernels {
namespace {

GroupedConvShape grouped_shape(const ConvolutionShape& shape) {
  return {.batch = shape.batch,
          .channels = shape.in_channels,
          .in_height = shape.in_height,
          .in_width = shape.in_width,
          .group_channels = shape.in_channels / shape.groups,
          .stride = shape.stride};
}

class GroupedConvolution final : public ConvolutionKernel {
 public:
  explicit GroupedConvolution(const ConvolutionShape& shape)
      : ConvolutionKernel(shape), grouped_(grouped_shape(shape)) {}

  at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                     const at::Tensor& bias, const at::Tensor& /*residual*/) override {
    const at::Tensor packed = pack(weights, WeightForm::Own::kGroupedForward);
    at::Tensor output = empty_output();
    const Stage stage("convolution");
    const KernelScope scope("grouped.forward", [&] { return facts("forward_training"); });
    grouped_forward(grouped_, input.const_data_ptr<float>(), packed.const_data_ptr<float>(),
                    floats_or_null(bias), shape().relu, output.data_ptr<float>());
    return output;
  }

  bool applies_mask() const override { return true; }

  at::Tensor backward_data(const at::Tensor& grad_output, const at::Tensor& activated,
                           const ConvolutionWeights& weights) override {
    const at::Tensor packed = pack(weights, WeightForm::Own::kGroupedData);
    at::Tensor grad_input = empty_input();
    const Stage stage("convolution");
    const KernelScope scope("grouped.backward_data", [&] { return facts("backward_data"); });
    grouped_backward_data(grouped_, grad_output.const_data_ptr<float>(), floats_or_null(activated),
                          packed.const_data_ptr<float>(), grad_input.data_ptr<float>());
    return grad_input;
  }

  at::Tensor backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                              const at::Tensor& activated, const ConvolutionWeights& weights,
                              const at::Tensor& /*grad_bias*/) override {
    at::Tensor gradient = empty_weights();
    const Stage stage("convolution");
    const KernelScope scope("grouped.backward_weights", [&] { return facts("backward_weights"); });
    grouped_backward_weights(grouped_, shape().type == at::kBFloat16, input.const_data_ptr(),
                             grad_output.const_data_ptr(), any_or_null(activated),
                             floats_or_null(weights.scale), gradient.data_ptr<float>());
    return gradient;
  }

  std::string implementation(ConvolutionPass /*pass*/) const override { return grouped_name(); }

 private:
  KernelFacts facts(const char* direction) const {
    return convolution_facts(shape(), grouped_name(), direction);
  }

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

bool computes(const ConvolutionShape& shape, ConvolutionPass pass) {
  const bool fits = shape.groups > 1 && shape.in_channels == shape.out_channels &&
                    shape.kernel_height == 3 && shape.kernel_width == 3 && shape.padding == 1 &&
                    !shape.bias_gradient && !shape.residual && !shape.clipped();
  const bool bf16 = shape.type == at::kBFloat16;
  return fits && grouped_conv_supported(grouped_shape(shape)) &&
         (!bf16 || pass == ConvolutionPass::kWeights);
}

// Against oneDNN 3.2, one thread, pooled allocator, Zen 4 (harness run --workload conv-blocks; by
// shape and not by a trial run, so that a seed gives the same bits each time). In bf16 oneDNN
// multiplies pairs in one instruction, which our float32 sums have to beat; with 32 channels a
// group its vectors are full.
bool preferred(const ConvolutionShape& shape, ConvolutionPass pass) {
  const int64_t group_channels = shape.in_channels / shape.groups;
  if (shape.type == at::kBFloat16) return group_channels == 8;
  if (group_channels != 32) return true;
  return pass == ConvolutionPass::kWeights || (pass == ConvolutionPass::kData && shape.stride == 2);
}

std::unique_ptr<ConvolutionKernel> make(const ConvolutionShape& shape,
                                        const ConvolutionPasses& /*passes*/) {
  return std::make_unique<GroupedConvolution>(shape);
}

const RegisterConvolutionKernel registered({"grouped", computes, preferred, make});

}  // namespace
}  // namespace harness::kernels
