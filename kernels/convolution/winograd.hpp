// 3x3 convolutions of stride 1 by Winograd's minimal filtering, F(m x m, 3 x 3): an output tile of
// m x m takes (m + 2)^2 multiplications instead of 9 m^2. Activations are channels_last and dense,
// float32 or bf16; all arithmetic is float32. Source: Lavin and Gray, arXiv 1509.09308; matrices:
// winograd_matrices.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace harness::kernels {

struct WinogradShape {
  std::int64_t batch = 1, in_channels = 1, out_channels = 1;
  std::int64_t in_height = 1, in_width = 1;
  std::int64_t padding = 1;  ///< 0, 1 or 2
  int tile = 4;              ///< outputs of a tile in each direction: 2, 4 or 6
  bool bf16 = false;         ///< activations, each a float's upper 16 bits, else float32

  std::int64_t out_height() const { return in_height + 2 * padding - 2; }
  std::int64_t out_width() const { return in_width + 2 * padding - 2; }
  /// The convolution that the gradient by the input is: of the gradient by the output, with the
  /// kernel turned round.
  WinogradShape of_gradient_by_data() const;
};

/// An activation of the shape's type; where `activated`, the output behind a ReLU, is not above 0
/// its values count as 0 (null: everywhere they count).
struct WinogradSource {
  const void* values = nullptr;
  const void* activated = nullptr;
};

struct WinogradTarget {
  void* values = nullptr;          ///< of the shape's type, bf16 rounded to nearest even
  const float* bias = nullptr;     ///< (O), or null
  const void* residual = nullptr;  ///< like the output, added before the ReLU, or null
  bool relu = false;
};

/// The parameter, (O, kh, kw, C) in memory, times `scale` (O; may be null).
struct WinogradWeights {
  const float* values = nullptr;
  const float* scale = nullptr;
};

/// Floats of transformed weights.
std::size_t winograd_packed_count(const WinogradShape& shape);

/// For the forward pass of `shape`; with `by_data` for that of shape.of_gradient_by_data(), from
/// the weights of the forward pass. False where a finite weight has left float's range.
bool winograd_pack(const WinogradShape& shape, const WinogradWeights& weights, bool by_data,
                   float* packed);

/// Floats that the two functions below work in, with the threads that OpenMP has now. Theirs are
/// aligned to 64 bytes.
std::size_t winograd_workspace(const WinogradShape& shape);
std::size_t winograd_weights_workspace(const WinogradShape& shape);

/// The forward pass. The same bits for any number of threads.
void winograd_convolve(const WinogradShape& shape, const WinogradSource& input, const float* packed,
                       const WinogradTarget& output, float* workspace);

/// Gradient by the weights (O, kh, kw, C), times `scale` (O; may be null), and by the bias (O), if
/// that is not null. The same bits for any number of threads.
void winograd_backward_weights(const WinogradShape& shape, const void* input,
                               const WinogradSource& grad_output, const float* scale,
                               float* grad_weights, float* grad_bias, float* workspace);

/// What runs: "winograd-4x4:AVX3".
const char* winograd_name(int tile);

}  // namespace harness::kernels
