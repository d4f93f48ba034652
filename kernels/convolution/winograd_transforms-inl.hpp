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

/// What is applied first and second for a matrix of F(m, 3).
constexpr WinogradFactors factors_of(int m, Which which) {
  using winograd_detail::identity_of;
  using winograd_detail::transposed;
  const WinogradMatrices all = winograd_matrices(winograd_points(m));
  switch (which) {
    case Which::kInput:
      return all.input_factors;
    case Which::kOutput:
      return all.output_factors;
    case Which::kOutputGradient:
      return {transposed(all.output_factors.second), transposed(all.output_factors.first)};
    case Which::kWeights:
      return {identity_of(3), all.weights};
    case Which::kWeightsGradient:
      return {identity_of(all.input.size()), all.weights_gradient};
  }
}

/// A matrix as constants of the program.
template <int m, Which which, FractionMatrix WinogradFactors::*member, Int rows, Int columns>
struct Factor {
  static constexpr Int kRowCount = rows;
  static constexpr Int kColumns = columns;
  static constexpr auto kElements = [] {
    const WinogradFactors factors = factors_of(m, which);
    std::array<std::array<float, columns>, rows> elements{};
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        elements[i][j] = static_cast<float>((factors.*member).at(i).at(j).value());
      }
    }
    return elements;
  }();
};

/// A matrix of F(m, 3) by its factors.
template <int m, Which which>
struct Matrix {
  static constexpr Int n = m + 2;
  static constexpr Int kRowCount =
      which == Which::kOutput ? m : (which == Which::kWeightsGradient ? 3 : n);
  static constexpr Int kColumns =
      which == Which::kWeights ? 3 : (which == Which::kOutputGradient ? m : n);
  static constexpr Int kBetween = which == Which::kWeights ? 3 : n;
  using First = Factor<m, which, &WinogradFactors::first, kBetween, kColumns>;
  using Second = Factor<m, which, &WinogradFactors::second, kRowCount, kBetween>;
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
inline constexpr Int kPanel = 2 * kLanes;  ///< channels that a product has as columns

/// The element that a sum over row `I` of M begins with: one that multiplies nothing, if there is.
template <class M, Int I>
constexpr Int first_of_row() {
  Int first = -1;
  for (Int k = 0; k < M::kColumns; ++k) {
    if (M::kElements[I][k] == 1) return k;
    if (first < 0 && M::kElements[I][k] != 0) first = k;
  }
  return first;
}

/// `sum` and row `I` of M times x, whose elements lie `stride` vectors apart, but for the first.
template <class M, Int I, Int K = 0>
HWY_INLINE V add_row(const V* x, Int stride, V sum) {
  if constexpr (K < M::kColumns) {
    constexpr float factor = K == first_of_row<M, I>() ? 0 : M::kElements[I][K];
    if constexpr (factor == 1) {
      sum = hn::Add(sum, x[K * stride]);
    } else if constexpr (factor == -1) {
      sum = hn::Sub(sum, x[K * stride]);
    } else if constexpr (factor != 0) {
      sum = hn::MulAdd(hn::Set(D(), factor), x[K * stride], sum);
    }
    return add_row<M, I, K + 1>(x, stride, sum);
  }
  return sum;
}

template <class M, Int I>
HWY_INLINE V row_times(const V* x, Int stride) {
  constexpr Int kFirst = first_of_row<M, I>();
  constexpr float factor = M::kElements[I][kFirst];
  const V first = x[kFirst * stride];
  return add_row<M, I>(x, stride, factor == 1 ? first : hn::Mul(hn::Set(D(), factor), first));
}

/// y = F x.
template <class F, Int I = 0>
HWY_INLINE void times_factor(const V* x, Int x_stride, V* y, Int y_stride) {
  if constexpr (I < F::kRowCount) {
    y[I * y_stride] = row_times<F, I>(x, x_stride);
    times_factor<F, I + 1>(x, x_stride, y, y_stride);
  }
}

/// y = M x.
template <class M>
HWY_INLINE void times(const V* x, Int x_stride, V* y, Int y_stride) {
  V between[M::kBetween];
  times_factor<typename M::First>(x, x_stride, between, 1);
  times_factor<typename M::Second>(between, 1, y, y_stride);
}

/// Vectors of a cache line, which are transformed together: lines of many pixels may not stay in
/// the cache until the next one.
inline constexpr Int kTogether = 16 / kLanes;

/// M x M^T of kVectors square x. read(i, j, v) gives an element of one, and write(i, v, y) takes
/// row i. Columns are read and rows written while they lie in registers: what does not fit there is
/// stored once.
template <class M, Int kVectors, class Read, class Write>
HWY_INLINE void times_both(const Read& read, const Write& write) {
  V half[kVectors][M::kRowCount * M::kColumns];
  for (Int j = 0; j < M::kColumns; ++j) {
    for (Int v = 0; v < kVectors; ++v) {
      V x[M::kColumns];
#pragma GCC unroll 8
      for (Int i = 0; i < M::kColumns; ++i) x[i] = read(i, j, v);
      times<M>(x, 1, half[v] + j, M::kColumns);
    }
  }
  for (Int i = 0; i < M::kRowCount; ++i) {
    for (Int v = 0; v < kVectors; ++v) {
      V y[M::kRowCount];
      times<M>(half[v] + i * M::kColumns, 1, y, 1);
      write(i, v, y);
    }
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

/// A vector of channels of the tile that the pointers lead to, transformed by M, or kVectors whole
/// ones: the last one has `count` channels.
template <class M, class T, bool kMasked, Int kVectors>
HWY_INLINE void transform_vectors(const T* const* values, const T* const* masks, Int c, Int count,
                                  float* to, Int tile_stride, Int positions) {
  const D d;
  const auto load_one = [&](const T* from) {
    return kVectors > 1 || count >= kLanes ? load(from) : load_some(from, count);
  };
  const auto read = [&](Int i, Int j, Int v) {
    const V x = load_one(values[i * M::kColumns + j] + c + v * kLanes);
    if constexpr (!kMasked) return x;
    const V mask = load_one(masks[i * M::kColumns + j] + c + v * kLanes);
    return hn::IfThenZeroElse(hn::Le(mask, hn::Zero(d)), x);  // a NaN has come through
  };
  times_both<M, kVectors>(read, [&](Int i, Int v, const V* y) {
#pragma GCC unroll 8
    for (Int j = 0; j < M::kRowCount; ++j) {
      hn::Store(y[j], d, to + v * tile_stride + (i * M::kRowCount + j) * positions);
    }
  });
}

/// A tile transformed by M; pixels outside of the map have the offset -1.
template <class M, class T, bool kMasked>
void transform_tile(const WinogradSource& source, const Int* offsets, const float* zeros,
                    Range channels, float* to, Int tile_stride, Int positions) {
  constexpr Int kCount = M::kColumns * M::kColumns;
  const auto* const outside = reinterpret_cast<const T*>(zeros);
  const T* values[kCount];
  const T* masks[kCount];
  for (Int i = 0; i < kCount; ++i) {
    const bool inside = offsets[i] >= 0;
    values[i] = inside ? static_cast<const T*>(source.values) + offsets[i] : outside;
    masks[i] = inside && kMasked ? static_cast<const T*>(source.activated) + offsets[i] : outside;
  }
  Int c = channels.begin;
  for (; c + kTogether * kLanes <= channels.end; c += kTogether * kLanes) {
    transform_vectors<M, T, kMasked, kTogether>(values, masks, c, kLanes, to, tile_stride,
                                                positions);
    to += kTogether * tile_stride;
  }
  for (; c < channels.end; c += kLanes, to += tile_stride) {
    transform_vectors<M, T, kMasked, 1>(values, masks, c, channels.end - c, to, tile_stride,
                                        positions);
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
