// What one thread does of a grouped convolution, in the vectors of the best instruction set that
// the machine has.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/convolution/grouped.hpp"

namespace harness::kernels::grouped {

using Int = std::int64_t;

constexpr Int kTaps = 3;    ///< in each direction
constexpr Int kSlice = 16;  ///< channels that are written together: a cache line

/// Channels that those of a slice read.
inline Int depth_of(const GroupedConvShape& shape) {
  return std::max(kSlice, shape.group_channels);
}

/// Rows of one slice of an activation that are kept side by side.
constexpr Int kRing = 4;
/// Floats of them, with a pixel of zeros at both ends of a row.
inline Int ring_floats(Int width, Int depth) { return kRing * (width + 2) * depth; }

/// Over the maps of a batch: reads with a halo, writes each pixel once.
struct Pass {
  GroupedConvShape shape{};
  bool by_data = false;  ///< it reads what a forward pass writes
  const float* read = nullptr;
  const float* mask = nullptr;  ///< as large as `read`, which counts where this is above 0; or null
  const float* packed = nullptr;  ///< weights, for each slice [vertical tap][read][tap][written]
  const float* bias = nullptr;    ///< or null
  bool relu = false;
  float* write = nullptr;

  Int read_height() const { return by_data ? shape.out_height() : shape.in_height; }
  Int read_width() const { return by_data ? shape.out_width() : shape.in_width; }
  Int write_height() const { return by_data ? shape.in_height : shape.out_height(); }
  Int write_width() const { return by_data ? shape.in_width : shape.out_width(); }
  Int chunks() const { return (write_height() + kRowsOfTask - 1) / kRowsOfTask; }
  /// A task is so many rows of a slice of a map; it reads up to two more.
  static constexpr Int kRowsOfTask = 32;
  Int tasks() const { return shape.batch * (shape.channels / kSlice) * chunks(); }
  Int memory_floats() const { return ring_floats(read_width(), depth_of(shape)); }
};

/// The gradient by the weights; a task is a slice of it.
struct WeightsPass {
  GroupedConvShape shape{};
  bool bf16 = false;  ///< the three below; else float32
  const void* input = nullptr;
  const void* gradient = nullptr;   ///< by the output
  const void* activated = nullptr;  ///< the output behind a ReLU; or null
  const float* scale = nullptr;     ///< of the output channels; or null
  float* result = nullptr;

  Int tasks() const { return shape.channels / kSlice; }
  Int sums() const { return kTaps * kTaps * shape.group_channels * kSlice; }
  Int memory_floats() const {
    return ring_floats(shape.in_width, depth_of(shape)) + ring_floats(shape.out_width(), kSlice) +
           sums();
  }
};

/// Tasks from `begin` to `end`. `memory` is the thread's own: memory_floats(), aligned to 64 bytes.
struct Kernels {
  void (*pass)(const Pass& pass, Int begin, Int end, float* memory);
  void (*weights)(const WeightsPass& pass, Int begin, Int end, float* memory);
};

Kernels kernels();
/// "AVX2".
const char* target_name();

}  // namespace harness::kernels::grouped
