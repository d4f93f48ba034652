// Vectors times the matrices of Winograd's convolutions, and tiles of maps transformed by them, for
// the instruction set that is being compiled: Highway includes this once for each, hence no
// `#pragma once`. To be included by winograd_simd.cpp.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/bf16-inl.hpp"
#include "kernels/convolution/winograd_matrices.hpp"
#include "kernels/convolution/winograd_simd.hpp"

// What is the same for all targets.
#ifndef HARNESS_WINOGRAD_MATRICES
#define HARNESS_WINOGRAD_MATRICES
namespace harness::kernels::winograd {
namespace {

using Bf16 = std::uint16_t;

enum class Which { kInput, kWeights, kOutput, kOutputGradient, kWeightsGradient };

/// A matrix of F(m, 3) as constants of the program.
template <int m, Which which>
struct Matrix {
  static constexpr Int n = m + 2;
  static constexpr Int kRowCount =
      which == Which::kOutput ? m : (which == Which::kWeightsGradient ? 3 : n);
  static constexpr Int kColumns =
      which == Which::kWeights ? 3 : (which == Which::kOutputGradient ? m : n);

  static constexpr auto kElements = [] {
    const WinogradMatrices all = winograd_matrices(winograd_points(m));
    const FractionMatrix& matrix = which == Which::kInput            ? all.input
                                   : which == Which::kWeights        ? all.weights
                                   : which == Which::kOutput         ? all.output
                                   : which == Which::kOutputGradient ? all.output_gradient
                                                                     : all.weights_gradient;
    std::array<std::array<float, kColumns>, kRowCount> elements{};
    for (std::size_t i = 0; i < kRowCount; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        elements[i][j] = static_cast<float>(matrix[i][j].value());
      }
    }
    return elements;
  }();
};

/// Where a tile's outputs begin.
struct Place {
  Int image = 0, y = 0, x = 0;
};

inline Place place_of(const WinogradShape& shape, Int tile) {
  const Int wide = (shape.out_width() + shape.tile - 1) / shape.tile;
  const Int high = (shape.out_height() + shape.tile - 1) / shape.tile;
  return {tile / (wide * high), tile / wide % high * shape.tile, tile % wide * shape.tile};
}

}  // namespace
}  // namespace harness::kernels::winograd
#endif

#if defined(HARNESS_WINOGRAD_TRANSFORMS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HARNESS_WINOGRAD_TRANSFORMS_TOGGLE
#undef HARNESS_WINOGRAD_TRANSFORMS_TOGGLE
#else
#define HARNESS_WINOGRAD_TRANSFORMS_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::winograd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
inline constexpr Int kLanes = hn::MaxLanes(D());

/// Row `I` of M times x, whose elements lie `stride` vectors apart.
template <class M, Int I, Int K = 0, bool kBegun = false>
HWY_INLINE V row_times(const V* x, Int stride, V sum) {
  if constexpr (K == M::kColumns) {
    return sum;
  } else {
    constexpr float factor = M::kElements[I][K];
    const D d;
    if constexpr (factor == 0) {
      return row_times<M, I, K + 1, kBegun>(x, stride, sum);
    } else if constexpr (!kBegun) {
      const V first = factor == 1 ? x[K * stride] : hn::Mul(hn::Set(d, factor), x[K * stride]);
      return row_times<M, I, K + 1, true>(x, stride, first);
    } else if constexpr (factor == 1) {
      return row_times<M, I, K + 1, true>(x, stride, hn::Add(sum, x[K * stride]));
    } else if constexpr (factor == -1) {
      return row_times<M, I, K + 1, true>(x, stride, hn::Sub(sum, x[K * stride]));
    } else {
      return row_times<M, I, K + 1, true>(x, stride,
                                          hn::MulAdd(hn::Set(d, factor), x[K * stride], sum));
    }
  }
}

/// y = M x.
template <class M, Int I = 0>
HWY_INLINE void times(const V* x, Int x_stride, V* y, Int y_stride) {
  if constexpr (I < M::kRowCount) {
    y[I * y_stride] = row_times<M, I>(x, x_stride, hn::Zero(D()));
    times<M, I + 1>(x, x_stride, y, y_stride);
  }
}

/// M x M^T of a square x, row by row; y is not x.
template <class M>
HWY_INLINE void times_both(const V* x, V* y) {
  V half[M::kRowCount * M::kColumns];
  for (Int j = 0; j < M::kColumns; ++j) times<M>(x + j, M::kColumns, half + j, M::kColumns);
  for (Int i = 0; i < M::kRowCount; ++i) {
    times<M>(half + i * M::kColumns, 1, y + i * M::kRowCount, 1);
  }
}

HWY_INLINE V load(const float* from) { return hn::LoadU(D(), from); }
HWY_INLINE void store(V values, float* to) { hn::StoreU(values, D(), to); }

HWY_INLINE V load(const Bf16* from) { return kernels::HWY_NAMESPACE::load_bf16(D(), from); }
HWY_INLINE void store(V values, Bf16* to) { kernels::HWY_NAMESPACE::store_bf16(values, D(), to); }

template <class T>
HWY_INLINE V load_some(const T* from, Int count) {
  if (count >= kLanes) return load(from);
  HWY_ALIGN T buffer[kLanes] = {};
  for (Int i = 0; i < count; ++i) buffer[i] = from[i];
  return load(buffer);
}

template <class T>
HWY_INLINE void store_some(V values, T* to, Int count) {
  if (count >= kLanes) return store(values, to);
  HWY_ALIGN T buffer[kLanes];
  store(values, buffer);
  for (Int i = 0; i < count; ++i) to[i] = buffer[i];
}

/// Tiles of `kSide` x `kSide` values whose first lies at (y, x) of a map, transformed by M.
template <class M, class T, bool kMasked>
void transform_tile(const WinogradSource& source, const Int* offsets, const float* zeros,
                    Range channels, float* to, Int tile_stride, Int positions) {
  constexpr Int kCount = M::kColumns * M::kColumns;
  const D d;
  const auto* const outside = reinterpret_cast<const T*>(zeros);
  const auto* const values = static_cast<const T*>(source.values);
  const auto* const activated = static_cast<const T*>(source.activated);
  for (Int c = channels.begin; c < channels.end; c += kLanes, to += tile_stride) {
    const Int count = channels.end - c;
    V x[kCount];
    for (Int i = 0; i < kCount; ++i) {
      const T* const from = offsets[i] < 0 ? outside : values + offsets[i];
      x[i] = load_some(from + c, count);
      if constexpr (kMasked) {
        const T* const mask = offsets[i] < 0 ? outside : activated + offsets[i];
        // A NaN has come through.
        x[i] = hn::IfThenZeroElse(hn::Le(load_some(mask + c, count), hn::Zero(d)), x[i]);
      }
    }
    V y[M::kRowCount * M::kRowCount];
    times_both<M>(x, y);
    for (Int i = 0; i < M::kRowCount * M::kRowCount; ++i) hn::Store(y[i], d, to + i * positions);
  }
}

/// For a map of so many pixels and channels, tiles `step` apart that begin `before` its edge.
template <class M, class T>
void transform_map(const WinogradShape& shape, Int height, Int width, Int depth, Int before,
                   const WinogradSource& source, Int first, Range which, Range channels,
                   const float* zeros, const Tiles& tiles) {
  for (Int t = which.begin; t < which.end; ++t) {
    const Place place = place_of(shape, first + t);
    Int offsets[M::kColumns * M::kColumns];
    for (Int i = 0; i < M::kColumns * M::kColumns; ++i) {
      const Int y = place.y - before + i / M::kColumns;
      const Int x = place.x - before + i % M::kColumns;
      const bool inside = y >= 0 && y < height && x >= 0 && x < width;
      offsets[i] = inside ? ((place.image * height + y) * width + x) * depth : -1;
    }
    const Int group = t / tiles.rows;
    const Int rows = std::min(tiles.rows, tiles.count - group * tiles.rows);
    float* const to = tiles.values + group * tiles.rows * tiles.vectors * kLanes +
                      (channels.begin - tiles.begin) * rows + (t - group * tiles.rows) * kLanes;
    if (source.activated != nullptr) {
      transform_tile<M, T, true>(source, offsets, zeros, channels, to, rows * kLanes,
                                 tiles.positions);
    } else {
      transform_tile<M, T, false>(source, offsets, zeros, channels, to, rows * kLanes,
                                  tiles.positions);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::winograd
HWY_AFTER_NAMESPACE();
#endif
