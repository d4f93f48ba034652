#include "kernels/convolution/depthwise_simd.hpp"

#include <algorithm>

#include "kernels/instruction_sets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolution/depthwise_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/bf16-inl.hpp"
#include "kernels/clip-inl.hpp"
#include "kernels/part_of_vector-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::depthwise {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Int = std::int64_t;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr Int kLanes = hn::MaxLanes(D());
constexpr int kMostOutputs = 4;  // side by side: they share the inputs between them

using Bf16 = std::uint16_t;

/// One row of the output, and of the rows around it those that the map has.
template <class T>
struct Row {
  const Depthwise& convolution;
  const T* input = nullptr;        ///< the first of these rows
  const float* weights = nullptr;  ///< theirs
  int lines = 3;
  T* output = nullptr;
  Int begin = 0, end = 0;  ///< channels
};

/// All of a vector, or its first `count` lanes.
template <bool kPart>
HWY_INLINE V load(const float* from, Int count) {
  const D d;
  if constexpr (kPart) {
    return kernels::HWY_NAMESPACE::load_part(d, from, count);
  } else {
    return hn::LoadU(d, from);
  }
}

template <bool kPart>
HWY_INLINE void store(V value, float* to, Int count) {
  const D d;
  if constexpr (kPart) {
    kernels::HWY_NAMESPACE::store_part(value, d, to, count);
  } else {
    hn::StoreU(value, d, to);
  }
}

template <bool kPart>
HWY_INLINE V load(const Bf16* from, Int count) {
  const D d;
  if constexpr (!kPart) return kernels::HWY_NAMESPACE::load_bf16(d, from);
  HWY_ALIGN Bf16 part[kLanes] = {};
  std::copy_n(from, count, part);
  return kernels::HWY_NAMESPACE::load_bf16(d, part);
}

template <bool kPart>
HWY_INLINE void store(V value, Bf16* to, Int count) {
  const D d;
  if constexpr (!kPart) return kernels::HWY_NAMESPACE::store_bf16(value, d, to);
  HWY_ALIGN Bf16 part[kLanes];
  kernels::HWY_NAMESPACE::store_bf16(value, d, part);
  std::copy_n(part, count, to);
}

/// One vector of channels of kOutputs outputs from column `x` on. At the left and the right edge of
/// the map a column of inputs is not there.
template <int kStride, int kOutputs, bool kLeft, bool kRight, bool kPart, class T>
HWY_INLINE void convolve_vector(const Row<T>& row, Int x, Int channel) {
  const D d;
  const Depthwise& all = row.convolution;
  const Int channels = all.shape.channels;
  const Int count = row.end - channel;
  constexpr int kColumns = (kOutputs - 1) * kStride + 3;

  const V bias = all.bias != nullptr ? load<kPart>(all.bias + channel, count) : hn::Zero(d);
  V sum[kOutputs];
#pragma GCC unroll 4
  for (int o = 0; o < kOutputs; ++o) sum[o] = bias;
  const T* from = row.input + (x * kStride - 1) * channels + channel;
  const float* weights = row.weights + channel;
  for (int line = 0; line < row.lines; ++line) {
    V by[3];
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) by[k] = load<kPart>(weights + k * channels, count);
#pragma GCC unroll 16
    for (int column = 0; column < kColumns; ++column) {
      if ((kLeft && column == 0) || (kRight && column == kColumns - 1)) continue;
      const V value = load<kPart>(from + column * channels, count);
#pragma GCC unroll 4
      for (int o = 0; o < kOutputs; ++o) {
        const int k = column - o * kStride;
        if (k >= 0 && k < 3) sum[o] = hn::MulAdd(value, by[k], sum[o]);
      }
    }
    from += all.shape.in_width * channels;
    weights += 3 * channels;
  }
  const V low = hn::Set(d, all.low);
  const V high = hn::Set(d, all.high);
#pragma GCC unroll 4
  for (int o = 0; o < kOutputs; ++o) {
    const V value = kernels::HWY_NAMESPACE::clip(sum[o], low, high);
    store<kPart>(value, row.output + (x + o) * channels + channel, count);
  }
}

template <int kStride, int kOutputs, bool kLeft, bool kRight, class T>
void convolve_outputs(const Row<T>& row, Int x) {
  Int channel = row.begin;
  for (; channel + kLanes <= row.end; channel += kLanes) {
    convolve_vector<kStride, kOutputs, kLeft, kRight, false>(row, x, channel);
  }
  if (channel < row.end) {
    convolve_vector<kStride, kOutputs, kLeft, kRight, true>(row, x, channel);
  }
}

/// Calls convolve_outputs for `count` of 1 to kOutputs.
template <int kStride, int kOutputs, bool kLeft, bool kRight, class T>
void convolve_some(const Row<T>& row, Int x, Int count) {
  if constexpr (kOutputs > 0) {
    if (count < kOutputs) return convolve_some<kStride, kOutputs - 1, kLeft, kRight>(row, x, count);
    convolve_outputs<kStride, kOutputs, kLeft, kRight>(row, x);
  }
}

template <int kStride, class T>
void convolve_row_by(const Row<T>& row) {
  const DepthwiseShape& shape = row.convolution.shape;
  const Int width = shape.out_width();
  const bool last_is_cut = (width - 1) * kStride + 1 == shape.in_width;
  const Int times = (width + kMostOutputs - 1) / kMostOutputs;
  const Int usual = (width + times - 1) / times;  // as equal as can be
  for (Int x = 0; x < width; x += usual) {
    const Int count = std::min(usual, width - x);
    const bool right = last_is_cut && x + count == width;
    if (x == 0 && right) {
      convolve_some<kStride, kMostOutputs, true, true>(row, x, count);
    } else if (x == 0) {
      convolve_some<kStride, kMostOutputs, true, false>(row, x, count);
    } else if (right) {
      convolve_some<kStride, kMostOutputs, false, true>(row, x, count);
    } else {
      convolve_some<kStride, kMostOutputs, false, false>(row, x, count);
    }
  }
}

template <class T>
void convolve_row_of(const Depthwise& convolution, const T* input, T* output, Int row, Int begin,
                     Int end) {
  const DepthwiseShape& shape = convolution.shape;
  const Int picture = row / shape.out_height();
  const Int top = row % shape.out_height() * shape.stride - 1;
  const Int first = std::max<Int>(top, 0);
  const Int last = std::min(top + 3, shape.in_height);
  const Int line = shape.in_width * shape.channels;
  const Row<T> one{convolution,
                   input + (picture * shape.in_height + first) * line,
                   convolution.weights + (first - top) * 3 * shape.channels,
                   static_cast<int>(last - first),
                   output + row * shape.out_width() * shape.channels,
                   begin,
                   end};
  if (shape.stride == 1) {
    convolve_row_by<1>(one);
  } else {
    convolve_row_by<2>(one);
  }
}

void convolve_any_row(const Depthwise& convolution, Int row, Int begin, Int end) {
  const Depthwise& c = convolution;
  if (c.narrow_input != nullptr) {
    convolve_row_of(c, c.narrow_input, c.narrow_output, row, begin, end);
  } else {
    convolve_row_of(c, c.input, c.output, row, begin, end);
  }
}

ConvolveRow* own_row() { return convolve_any_row; }

const char* own_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::depthwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace harness::kernels::depthwise {

HWY_EXPORT(own_row);
HWY_EXPORT(own_name);

ConvolveRow* convolve_row() { return HWY_DYNAMIC_DISPATCH(own_row)(); }
const char* target_name() { return HWY_DYNAMIC_DISPATCH(own_name)(); }

}  // namespace harness::kernels::depthwise
#endif
