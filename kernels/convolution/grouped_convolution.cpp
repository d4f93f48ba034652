// Our grouped kernels behind the interface that all convolutions share.
#include <ATen/ATen.h>

#include <memory>
#include <utility>

#include "kernels/convolution/convolution.hpp"
#include "kernels/convolution/grouped.hpp"
#include "kernels/convolution/prepared_weights.hpp"
#include "kernels/runtime/instruction_sets.hpp"
#include "kernels/runtime/stages.hpp"

namespace harness::kernels {
namespace {

const float* floats_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}

const void* any_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

// Which directions our kernels are the faster ones in, against oneDNN 3.2, one thread, pooled
// allocator, Zen 4 (harness run --workload conv-blocks; by shape and not by a trial run, so that a
// seed gives the same bits each time). In bf16 oneDNN multiplies pairs in one instruction, which
// our float32 sums have to beat; with 32 channels a group its vectors are full.
struct OwnDirections {
  bool forward = false, data = false, weights = false;
  bool any() const { return forward || data || weights; }
};

OwnDirections own_directions(const GroupedConvShape& shape, bool bf16) {
  if (bf16) return {.weights = shape.group_channels == 8};
  if (shape.group_channels == 32) return {.data = shape.stride == 2, .weights = true};
  return {true, true, true};
}

class GroupedConvolution final : public Convolution {
 public:
  GroupedConvolution(const ConvolutionShape& shape, const GroupedConvShape& grouped,
                     std::unique_ptr<Convolution> library)
      : Convolution(shape),
        grouped_(grouped),
        own_(own_directions(grouped, shape.type == at::kBFloat16)),
        library_(std::move(library)) {}

  at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                     const at::Tensor& bias, const at::Tensor& residual) override {
    if (!own_.forward) return library_->forward(input, weights, bias, residual);
    const at::Tensor packed = pack(weights, WeightForm::Own::kGroupedForward);
    at::Tensor output = empty_output();
    const Stage stage("convolution");
    const KernelScope scope("grouped.forward", [&] { return facts("forward_training"); });
    grouped_forward(grouped_, input.const_data_ptr<float>(), packed.const_data_ptr<float>(),
                    floats_or_null(bias), shape().relu, output.data_ptr<float>());
    return output;
  }

  bool applies_mask() const override { return own_.data && own_.weights; }

  at::Tensor backward_data(const at::Tensor& grad_output, const at::Tensor& activated,
                           const ConvolutionWeights& weights) override {
    if (!own_.data) return library_->backward_data(grad_output, activated, weights);
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
                              const at::Tensor& grad_bias) override {
    if (!own_.weights) {
      return library_->backward_weights(input, grad_output, activated, weights, grad_bias);
    }
    at::Tensor gradient = empty_weights();
    const Stage stage("convolution");
    const KernelScope scope("grouped.backward_weights", [&] { return facts("backward_weights"); });
    grouped_backward_weights(grouped_, shape().type == at::kBFloat16, input.const_data_ptr(),
                             grad_output.const_data_ptr(), any_or_null(activated),
                             floats_or_null(weights.scale), gradient.data_ptr<float>());
    return gradient;
  }

  std::string description() override {
    const auto choice = [](bool own) { return own ? "grouped:avx512" : "library"; };
    return std::string(choice(own_.forward)) + ", " + choice(own_.data) + ", " +
           choice(own_.weights) + "; library: " + library_->description();
  }

 private:
  KernelFacts facts(const char* direction) const {
    return convolution_facts(shape(), "grouped:avx512", direction);
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
  OwnDirections own_;
  std::unique_ptr<Convolution> library_;  ///< for the other directions
};

}  // namespace

bool grouped_conv_supported(const GroupedConvShape& shape) {
  const int64_t group = shape.group_channels;
  const bool known_group = group == 4 || group == 8 || group == 16 || group == 32;
  return known_group && (shape.stride == 1 || shape.stride == 2) && shape.channels % 16 == 0 &&
         shape.channels % group == 0 && avx512_allowed();
}

std::unique_ptr<Convolution> make_grouped_convolution(const ConvolutionShape& shape) {
  const GroupedConvShape grouped{.batch = shape.batch,
                                 .channels = shape.in_channels,
                                 .in_height = shape.in_height,
                                 .in_width = shape.in_width,
                                 .group_channels = shape.in_channels / shape.groups,
                                 .stride = shape.stride};
  const bool bf16 = shape.type == at::kBFloat16;
  const bool fits = shape.groups > 1 && shape.in_channels == shape.out_channels &&
                    shape.kernel_height == 3 && shape.kernel_width == 3 && shape.padding == 1 &&
                    !shape.bias_gradient && !shape.residual;
  if (!fits || !grouped_conv_supported(grouped) || !own_directions(grouped, bf16).any())
    return nullptr;
  std::unique_ptr<Convolution> library = make_onednn_convolution(shape);
  if (!library) return nullptr;
  return std::make_unique<GroupedConvolution>(shape, grouped, std::move(library));
}

}  // namespace harness::kernels
