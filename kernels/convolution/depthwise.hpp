// Depthwise 3x3 convolutions in float32, of maps in float32 or bf16: each channel by weights of its
// own. Needs no LibTorch; vectors of the best instruction set that the machine has.
#pragma once

#include <cstdint>
#include <limits>

namespace harness::kernels {

/// Padding 1; maps lie channels_last, dense.
struct DepthwiseShape {
  std::int64_t batch = 1, channels = 1, in_height = 1, in_width = 1;
  std::int64_t stride = 1;  ///< 1 or 2

  std::int64_t out_height() const { return (in_height - 1) / stride + 1; }
  std::int64_t out_width() const { return (in_width - 1) / stride + 1; }
};

struct Depthwise {
  DepthwiseShape shape{};
  const float* input = nullptr;
  const float* weights = nullptr;  ///< [9][channels]
  const float* bias = nullptr;     ///< (channels); null: none
  /// What an output is cut off at; a NaN stays one.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  float* output = nullptr;
  /// Bits of bf16, in place of `input` and `output`; results are rounded to nearest even.
  const std::uint16_t* narrow_input = nullptr;
  std::uint16_t* narrow_output = nullptr;
};

/// By all threads of OpenMP, or within one of its parallel regions by the one that calls. The bits
/// do not depend on how many there are.
void convolve_depthwise(const Depthwise& convolution);

/// Part number `part` of `parts` of that, by the thread that calls. All parts together write each
/// output once; threads of one parallel region may compute one each.
void convolve_depthwise_part(const Depthwise& convolution, std::int64_t part, std::int64_t parts);

/// "depthwise:AVX3": with the instruction set.
const char* depthwise_name();

}  // namespace harness::kernels
