#include "kernels/convolution/winograd_simd.hpp"

#include <algorithm>

#include "kernels/instruction_sets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolution/winograd_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/block_sums-inl.hpp"
#include "kernels/convolution/winograd_transforms-inl.hpp"
#include "kernels/convolution/winograd_weights-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::winograd {
namespace HWY_NAMESPACE {
namespace {

// Registers: 2 vectors of sums a row, 2 of weights, 1 of the broadcast value.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr Int kRows = 13;
constexpr Int kWeightRows = std::min<Int>(kLanes, 8);
#else
constexpr Int kRows = 6;
constexpr Int kWeightRows = std::min<Int>(kLanes, 4);
#endif
constexpr int kWeightVectors = 3;

template <int m, class T>
void transform_input(const WinogradShape& shape, const WinogradSource& source, Int first,
                     Range which, Range channels, const float* zeros, const Tiles& tiles) {
  transform_map<Matrix<m, Which::kInput>, T>(shape, shape.in_height, shape.in_width,
                                             shape.in_channels, shape.padding, source, first, which,
                                             channels, zeros, tiles);
}

template <int m, class T>
void transform_gradient(const WinogradShape& shape, const WinogradSource& source, Int first,
                        Range which, Range channels, const float* zeros, const Tiles& tiles) {
  transform_map<Matrix<m, Which::kOutputGradient>, T>(shape, shape.out_height(), shape.out_width(),
                                                      shape.out_channels, 0, source, first, which,
                                                      channels, zeros, tiles);
}

using kernels::HWY_NAMESPACE::sum_block;

/// Calls sum_block for `rows` of 1 to kR.
template <int kR, int kV>
HWY_INLINE void multiply_rows(Int rows, const float* a, Int vectors, const float* b, float* c,
                              Int c_row, bool add) {
  if constexpr (kR > 0) {
    if (rows < kR) return multiply_rows<kR - 1, kV>(rows, a, vectors, b, c, c_row, add);
    sum_block<D, kR, kV, kLanes, 1, kLanes>(a, kR * kLanes, b, kV * kLanes, kLanes, vectors, c,
                                            c_row, add);
  }
}

template <int m>
void multiply(const Tiles& tiles, const float* packed, Int stride, Int columns,
              const Products& products) {
  constexpr Int kPositions = Int{m + 2} * (m + 2);
  for (Int p = 0; p < kPositions; ++p) {
    const float* a = tiles.values + p * tiles.positions;
    const float* const b = packed + p * stride;
    float* c = products.values + p * products.positions;
    for (Int t = 0; t < tiles.count; t += tiles.rows) {
      const Int rows = std::min(tiles.rows, tiles.count - t);
      if (columns > kLanes) {
        multiply_rows<kRows, 2>(rows, a, tiles.vectors, b, c, products.row, products.add);
      } else {
        multiply_rows<kRows, 1>(rows, a, tiles.vectors, b, c, products.row, products.add);
      }
      a += rows * tiles.vectors * kLanes;
      c += rows * products.row;
    }
  }
}

template <int kV>
HWY_INLINE Int multiply_weight_columns(const float* a, const float* b, Int b_vector, Int count,
                                       float* c, Int c_row, bool add) {
  for (Int r = 0; r < kLanes; r += kWeightRows) {
    sum_block<D, kWeightRows, kV, 1, kLanes, 1>(a + r, kLanes, b, kLanes, b_vector, count,
                                                c + r * c_row, c_row, add);
  }
  return kV;
}

void multiply_weights(const Tiles& gradients, Int vector, const Tiles& inputs, Int position,
                      const Products& products) {
  const Int count = inputs.count;
  const Int b_vector = count * kLanes;
  const float* const a =
      gradients.values + position * gradients.positions + vector * count * kLanes;
  const float* const b = inputs.values + position * inputs.positions;
  float* const c = products.values + position * products.positions;
  for (Int v = 0; v < inputs.vectors;) {
    const Int left = inputs.vectors - v;
    const float* const bv = b + v * b_vector;
    float* const cv = c + v * kLanes;
    // 4 as 2 and 2, not as 3 and 1.
    if (left >= kWeightVectors && left != 4) {
      v += multiply_weight_columns<3>(a, bv, b_vector, count, cv, products.row, products.add);
    } else if (left >= 2) {
      v += multiply_weight_columns<2>(a, bv, b_vector, count, cv, products.row, products.add);
    } else {
      v += multiply_weight_columns<1>(a, bv, b_vector, count, cv, products.row, products.add);
    }
  }
}

/// Where a tile's outputs are written: `at` is the element of its first pixel's first channel.
struct OutputTile {
  Int high = 0, wide = 0;  ///< pixels that lie on the map
  Int at = 0, row = 0, pixel = 0;
};

/// Vectors of the channels from `c` on of one tile, transformed; `some` channels are there.
template <int m, class T, Int kVectors>
HWY_INLINE void store_tile(const float* from, Int positions, const OutputTile& tile, Int c,
                           Int some, const WinogradTarget& target) {
  using M = Matrix<m, Which::kOutput>;
  const D d;
  auto* const values = static_cast<T*>(target.values) + tile.at + c;
  const auto* const residual =
      target.residual == nullptr ? nullptr : static_cast<const T*>(target.residual) + tile.at + c;
  V bias[kVectors];
  for (Int v = 0; v < kVectors; ++v) {
    bias[v] = target.bias == nullptr ? hn::Zero(d)
                                     : load_some(target.bias + c + v * kLanes, some - v * kLanes);
  }
  const auto read = [&](Int i, Int j, Int v) {
    return hn::Load(d, from + (i * M::kColumns + j) * positions + v * kLanes);
  };
  times_both<M, kVectors>(read, [&](Int i, Int v, const V* y) {
    if (i >= tile.high) return;
#pragma GCC unroll 6
    for (Int j = 0; j < m; ++j) {
      if (j >= tile.wide) return;
      const Int at = i * tile.row + j * tile.pixel + v * kLanes;
      V value = hn::Add(y[j], bias[v]);
      if (residual != nullptr) value = hn::Add(value, load_some(residual + at, some - v * kLanes));
      // A NaN stays one.
      if (target.relu) value = hn::IfThenZeroElse(hn::Le(value, hn::Zero(d)), value);
      store_some(value, values + at, some - v * kLanes);
    }
  });
}

template <int m, class T>
void store_output(const WinogradShape& shape, const Products& products, Int first, Int count,
                  Range channels, const WinogradTarget& target) {
  constexpr Int kAtOnce = std::min(kTogether, kPanel / kLanes);
  const Int height = shape.out_height();
  const Int width = shape.out_width();
  const Int depth = shape.out_channels;
  for (Int t = 0; t < count; ++t) {
    const Place place = place_of(shape, first + t);
    const OutputTile tile{std::min<Int>(m, height - place.y), std::min<Int>(m, width - place.x),
                          ((place.image * height + place.y) * width + place.x) * depth,
                          width * depth, depth};
    const float* from = products.values + t * products.row;
    Int c = channels.begin;
    for (; c + kAtOnce * kLanes <= channels.end; c += kAtOnce * kLanes) {
      store_tile<m, T, kAtOnce>(from + (c - channels.begin), products.positions, tile, c,
                                kAtOnce * kLanes, target);
    }
    for (; c < channels.end; c += kLanes) {
      store_tile<m, T, 1>(from + (c - channels.begin), products.positions, tile, c,
                          channels.end - c, target);
    }
  }
}

template <int m, class T>
constexpr Kernels kKernels = {
    transform_input<m, T>, transform_gradient<m, T>, multiply<m>, multiply_weights,
    store_output<m, T>,    store_weights<m>,         pack<m>};

template <class T>
const Kernels* kernels_with(int tile) {
  return tile == 2 ? &kKernels<2, T> : (tile == 4 ? &kKernels<4, T> : &kKernels<6, T>);
}

const Kernels* target_kernels(const WinogradShape& shape) {
  return shape.bf16 ? kernels_with<Bf16>(shape.tile) : kernels_with<float>(shape.tile);
}

Cut target_cut() { return {kLanes, kRows, kPanel}; }

const char* own_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::winograd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace harness::kernels::winograd {

HWY_EXPORT(target_kernels);
HWY_EXPORT(target_cut);
HWY_EXPORT(own_name);

const Kernels& kernels_of(const WinogradShape& shape) {
  return *HWY_DYNAMIC_DISPATCH(target_kernels)(shape);
}
Cut cut() { return HWY_DYNAMIC_DISPATCH(target_cut)(); }
const char* target_name() { return HWY_DYNAMIC_DISPATCH(own_name)(); }

}  // namespace harness::kernels::winograd
#endif
