// Weights of Winograd's convolutions, transformed on the way in and, as gradients, on the way out,
// for the instruction set that is being compiled: Highway includes this once for each, hence no
// `#pragma once`. To be included by winograd_simd.cpp.
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/convolution/winograd_simd.hpp"
#include "kernels/convolution/winograd_transforms-inl.hpp"

#if defined(HARNESS_WINOGRAD_WEIGHTS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HARNESS_WINOGRAD_WEIGHTS_TOGGLE
#undef HARNESS_WINOGRAD_WEIGHTS_TOGGLE
#else
#define HARNESS_WINOGRAD_WEIGHTS_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::winograd {
namespace HWY_NAMESPACE {
namespace {

template <int m>
void store_weights(const WinogradShape& shape, const Products& products, Range channels,
                   const float* scale, float* grad_weights) {
  using M = Matrix<m, Which::kWeightsGradient>;
  const D d;
  for (Int o = channels.begin; o < channels.end; ++o) {
    const V factor = hn::Set(d, scale != nullptr ? scale[o] : 1.0F);
    for (Int c = 0; c < shape.in_channels; c += kLanes) {
      const float* const from = products.values + (o - channels.begin) * products.row + c;
      const auto read = [&](Int i, Int j, Int /*v*/) {
        return hn::Load(d, from + (i * M::kColumns + j) * products.positions);
      };
      times_both<M, 1>(read, [&](Int i, Int /*v*/, const V* y) {
        for (Int j = 0; j < 3; ++j) {
          store_some(hn::Mul(y[j], factor),
                     grad_weights + (o * 9 + i * 3 + j) * shape.in_channels + c,
                     shape.in_channels - c);
        }
      });
    }
  }
}

/// The nine weights of `count` panel channels from `column` on for each of the input channels from
/// `row` on, a vector of panel channels a weight: to[row][tap].
HWY_INLINE void turn_weights(const WinogradShape& shape, const float* weights, Int column,
                             Int count, Int row, Int rows, V* to) {
  const D d;
  HWY_ALIGN float lanes[kLanes * kLanes];
  for (Int tap = 0; tap < 9; ++tap) {
    for (Int i = 0; i < kLanes; ++i) {
      const Int from = ((column + i) * 9 + tap) * shape.in_channels + row;
      hn::Store(i < count ? load_some(weights + from, rows) : hn::Zero(d), d, lanes + i * kLanes);
    }
    const auto indices = hn::Mul(hn::Iota(hn::RebindToSigned<D>(), 0),
                                 hn::Set(hn::RebindToSigned<D>(), static_cast<int>(kLanes)));
    for (Int r = 0; r < rows; ++r) to[r * 9 + tap] = hn::GatherIndex(d, lanes + r, indices);
  }
}

template <int m>
bool pack(const WinogradShape& shape, const WinogradWeights& weights, bool by_data, Range panel,
          Int first_in, Int end_in, float* packed) {
  using M = Matrix<m, Which::kWeights>;
  constexpr Int kPositions = M::kRowCount * M::kRowCount;
  const D d;
  const Int columns = panel.end - panel.begin > kLanes ? kPanel : kLanes;
  const Int stride = (end_in - first_in + kLanes - 1) / kLanes * kLanes * columns;
  // Columns fill up with 0 by themselves.
  if ((end_in - first_in) % kLanes != 0) std::fill(packed, packed + kPositions * stride, 0.0F);
  // NaN where finite weights have a transform that is not.
  V lost = hn::Zero(d);
  const auto transform = [&](const V* x, V factor, float* to) {
    // 0, and NaN from the first value on that is not finite.
    V spoilt = hn::Zero(d);
    V spoilt_weight = hn::Zero(d);
    const auto read = [&](Int i, Int j, Int /*v*/) {
      const V value = hn::Mul(factor, x[i * 3 + j]);
      spoilt_weight = hn::MulAdd(value, hn::Zero(d), spoilt_weight);
      return value;
    };
    times_both<M, 1>(read, [&](Int i, Int /*v*/, const V* y) {
      for (Int j = 0; j < M::kRowCount; ++j) {
        spoilt = hn::MulAdd(y[j], hn::Zero(d), spoilt);
        hn::Store(y[j], d, to + (i * M::kRowCount + j) * stride);
      }
    });
    lost = hn::Add(lost, hn::IfThenZeroElse(hn::IsNaN(spoilt_weight), spoilt));
  };
  const float* const scale = weights.scale;
  for (Int c = panel.begin; c < panel.end; c += kLanes) {
    const Int count = std::min(kLanes, panel.end - c);
    float* const to = packed + (c - panel.begin);
    for (Int r = first_in; r < end_in; r += kLanes) {
      const Int rows = std::min(kLanes, end_in - r);
      V x[9 * kLanes];
      V factor = hn::Set(d, 1.0F);
      if (!by_data) {
        // The panel's channels lie apart in the parameter, [panel channel][tap][input channel].
        turn_weights(shape, weights.values, c, count, r, rows, x);
        if (scale != nullptr) factor = load_some(scale + c, count);
      }
      for (Int i = 0; i < rows; ++i) {
        if (by_data) {
          // [input channel][tap][panel channel], and the kernel is turned round.
          for (int tap = 0; tap < 9; ++tap) {
            const Int from = ((r + i) * 9 + 8 - tap) * shape.out_channels + c;
            x[i * 9 + tap] = load_some(weights.values + from, count);
          }
          if (scale != nullptr) factor = hn::Set(d, scale[r + i]);
        }
        transform(x + i * 9, factor, to + (r + i - first_in) * columns);
      }
    }
  }
  return hn::AllFalse(d, hn::IsNaN(lost));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::winograd
HWY_AFTER_NAMESPACE();
#endif
