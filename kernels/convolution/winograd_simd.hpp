// What one thread does of a Winograd convolution, in the vectors of the best instruction set that
// the machine has. Positions are those of the (m + 2)^2 points of a transformed tile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/convolution/winograd.hpp"

namespace harness::kernels::winograd {

using Int = std::int64_t;

/// How a target cuts its work.
struct Cut {
  std::int64_t lanes = 1;  ///< floats of a vector
  std::int64_t rows = 1;   ///< most tiles that one product of registers has
  std::int64_t panel = 2;  ///< output channels of a panel, 2 vectors
};

/// Transformed tiles [position][group of tiles][vector of channels][tile of the group][lane]: a
/// product reads its operand front to back. Groups are of `rows` tiles, the last may have fewer.
struct Tiles {
  float* values = nullptr;
  std::int64_t count = 0;      ///< of tiles
  std::int64_t rows = 1;       ///< of a group
  std::int64_t vectors = 1;    ///< of channels that are there
  std::int64_t begin = 0;      ///< the first of these channels
  std::int64_t positions = 0;  ///< floats from one position to the next
};

/// [position][row][column], added to where `add`.
struct Products {
  float* values = nullptr;
  std::int64_t row = 0;        ///< floats from one row to the next
  std::int64_t positions = 0;  ///< floats from one position to the next
  bool add = false;
};

struct Range {
  std::int64_t begin = 0, end = 0;
};

/// One for each tile size and type of activations; all pointers to floats that were not the
/// caller's are aligned.
struct Kernels {
  /// `which` of the tiles, the shape's from `first` on: `channels` of the input, padded with 0 to
  /// whole vectors. `zeros` holds a 0 for each channel of the input.
  void (*transform_input)(const WinogradShape& shape, const WinogradSource& source,
                          std::int64_t first, Range which, Range channels, const float* zeros,
                          const Tiles& tiles);
  /// The same of the gradient by the output, whose tiles do not overlap.
  void (*transform_gradient)(const WinogradShape& shape, const WinogradSource& source,
                             std::int64_t first, Range which, Range channels, const float* zeros,
                             const Tiles& tiles);
  /// Rows are tiles, columns the panel's channels; `packed` holds [position][channel][column], and
  /// a position has `stride` floats.
  void (*multiply)(const Tiles& tiles, const float* packed, std::int64_t stride,
                   std::int64_t columns, const Products& products);
  /// Rows are channels of `gradients`, one vector of them, columns all channels of `inputs`, both
  /// in one group of tiles; of one position.
  void (*multiply_weights)(const Tiles& gradients, std::int64_t vector, const Tiles& inputs,
                           std::int64_t position, const Products& products);
  /// Output channels of one panel.
  void (*store_output)(const WinogradShape& shape, const Products& products, std::int64_t first,
                       std::int64_t count, Range channels, const WinogradTarget& target);
  /// Rows are output channels from `channels.begin` on, columns input channels.
  void (*store_weights)(const WinogradShape& shape, const Products& products, Range channels,
                        const float* scale, float* grad_weights);
  /// One panel: [position][input channel][column], input channels padded to whole vectors. Whether
  /// all are finite that have finite weights.
  bool (*pack)(const WinogradShape& shape, const WinogradWeights& weights, bool by_data,
               Range panel, std::int64_t first_in, std::int64_t end_in, float* packed);
};

Cut cut();
const Kernels& kernels_of(const WinogradShape& shape);
/// "AVX3".
const char* target_name();

}  // namespace harness::kernels::winograd
