// Own kernels for ResNeXt's grouped 3x3 convolution with few channels a group, where general
// libraries stay far below the peak: their vectors run over the channels of one group, ours over 16
// channels of one or several groups.
#pragma once

#include <cstddef>
#include <cstdint>

namespace harness::kernels {

/// 3x3, padding 1, as many output as input channels; all activations channels_last and dense.
struct GroupedConvShape {
  std::int64_t batch = 1, channels = 16;
  std::int64_t in_height = 1, in_width = 1;
  std::int64_t group_channels = 8;  ///< 4, 8, 16 or 32
  std::int64_t stride = 1;          ///< 1 or 2

  std::int64_t out_height() const { return (in_height - 1) / stride + 1; }
  std::int64_t out_width() const { return (in_width - 1) / stride + 1; }
};

/// Whether this shape has a kernel.
bool grouped_conv_supported(const GroupedConvShape& shape);

/// Floats in either packed form of the weights.
inline std::size_t packed_weight_count(const GroupedConvShape& shape) {
  return static_cast<std::size_t>(shape.channels * shape.group_channels * 9);
}

/// Weights (O, kh, kw, I/groups) as they lie in a channels_last parameter, times `scale` (O; may be
/// null), in the order the forward pass or the gradient by data reads them.
void pack_grouped_weights(const GroupedConvShape& shape, const float* weights, const float* scale,
                          bool for_data, float* packed);

/// output = [relu](convolution + bias); `bias` (O) may be null.
void grouped_forward(const GroupedConvShape& shape, const float* input, const float* packed,
                     const float* bias, bool relu, float* output);

/// Gradient by the input. With `activated`, the forward pass's output behind its ReLU, the gradient
/// by the output counts only where that is above 0: the mask costs no pass of its own.
void grouped_backward_data(const GroupedConvShape& shape, const float* grad_output,
                           const float* activated, const float* packed, float* grad_input);

/// Gradient by the weights (O, kh, kw, I/groups), float32, times `scale` (O; may be null), from
/// activations in float32 or, with `bf16`, in bfloat16; sums are float32. Each thread owns its
/// channels, so the sums are the same for any number of threads.
void grouped_backward_weights(const GroupedConvShape& shape, bool bf16, const void* input,
                              const void* grad_output, const void* activated, const float* scale,
                              float* grad_weights);

/// "grouped:AVX2".
const char* grouped_name();

}  // namespace harness::kernels
