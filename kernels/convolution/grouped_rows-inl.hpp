// Channels of a group for each lane, and packed rows, for the instruction set that is being
// compiled: Highway includes this once for each, hence no `#pragma once`. To be included by
// grouped_simd.cpp.
#include <hwy/highway.h>

#include <cstdint>

#include "kernels/bf16-inl.hpp"
#include "kernels/convolution/grouped_simd.hpp"

#if defined(HARNESS_GROUPED_ROWS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HARNESS_GROUPED_ROWS_TOGGLE
#undef HARNESS_GROUPED_ROWS_TOGGLE
#else
#define HARNESS_GROUPED_ROWS_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::grouped {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using Bf16 = std::uint16_t;

inline constexpr Int kLanes = hn::MaxLanes(D());

HWY_INLINE V load(const float* from) { return hn::LoadU(D(), from); }
HWY_INLINE V load(const Bf16* from) { return kernels::HWY_NAMESPACE::load_bf16(D(), from); }

// Of a pixel's packed channels, channel `i` of its group for each lane. Where the vector's own
// channels begin depends on how many a group has.

/// Groups of a vector and more: all lanes read the same one.
class Broadcast {
 public:
  explicit HWY_INLINE Broadcast(Int i) : i_(i) {}
  HWY_INLINE V operator()(const float* pixel) const { return hn::Set(D(), pixel[i_]); }
  static Int first(Int lane, Int group) { return group >= kSlice ? 0 : lane / group * group; }

 private:
  Int i_;
};

#if HWY_TARGET != HWY_SCALAR
/// Groups of four: each block of a vector is one.
class InBlock {
 public:
  explicit HWY_INLINE InBlock(Int i)
      : bytes_(
            hn::BitCast(kBytes(), hn::Set(hn::RebindToUnsigned<D>(),
                                          0x03020100U + 0x04040404U * static_cast<unsigned>(i)))) {}
  HWY_INLINE V operator()(const float* pixel) const {
    return hn::BitCast(D(), hn::TableLookupBytes(hn::BitCast(kBytes(), load(pixel)), bytes_));
  }
  static Int first(Int lane, Int /*group*/) { return lane; }

 private:
  using kBytes = hn::Repartition<std::uint8_t, D>;
  hn::Vec<kBytes> bytes_;
};

/// Groups of eight in a vector of sixteen.
class InVector {
 public:
  explicit HWY_INLINE InVector(Int i)
      : lanes_(hn::Add(hn::And(hn::Iota(kInts(), 0), hn::Set(kInts(), ~7)),
                       hn::Set(kInts(), static_cast<std::int32_t>(i)))) {}
  HWY_INLINE V operator()(const float* pixel) const {
    return hn::TableLookupLanes(load(pixel), hn::IndicesFromVec(D(), lanes_));
  }
  static Int first(Int lane, Int /*group*/) { return lane; }

 private:
  using kInts = hn::RebindToSigned<D>;
  hn::Vec<kInts> lanes_;
};
#endif

// A few rows of one slice of an activation: float32, side by side, one pixel of zeros at both ends.
// Without it every pixel would be a kilobyte from the next, on few sets of the cache.
template <class Value>
class Rows {
 public:
  /// `memory`: ring_floats(width, depth).
  Rows(const Value* data, const Value* mask, Int height, Int width, Int channels, Int depth,
       float* memory)
      : data_(data),
        mask_(mask),
        height_(height),
        width_(width),
        channels_(channels),
        depth_(depth),
        memory_(memory) {
    for (Int i = 0; i < ring_floats(width, depth); ++i) memory_[i] = 0;
  }

  void start(Int image, Int channel) {
    offset_ = image * height_ * width_ * channels_ + channel;
    for (Int& held : held_) held = -1;
  }
  // Row `y`, beginning with the pixel left of the first; null outside of the map.
  HWY_INLINE const float* row(Int y) {
    if (y < 0 || y >= height_) return nullptr;
    const Int slot = y % kRing;
    float* const target = memory_ + slot * (width_ + 2) * depth_;
    if (held_[slot] != y) {
      pack(y, target + depth_);
      held_[slot] = y;
    }
    return target;
  }

 private:
  HWY_INLINE void pack(Int y, float* target) const {
    const D d;
    const Int begin = offset_ + y * width_ * channels_;
    for (Int x = 0; x < width_; ++x) {
      for (Int part = 0; part < depth_; part += kLanes) {
        const Int at = begin + x * channels_ + part;
        // Pixels are far apart, which no hardware prefetcher follows: ask for the next row now.
        if (part % kSlice == 0) {
          __builtin_prefetch(data_ + at + width_ * channels_, 0, 2);
          if (mask_ != nullptr) __builtin_prefetch(mask_ + at + width_ * channels_, 0, 2);
        }
        V values = load(data_ + at);
        // A NaN in the mask lets through.
        if (mask_ != nullptr) {
          values = hn::IfThenZeroElse(hn::Le(load(mask_ + at), hn::Zero(d)), values);
        }
        hn::StoreU(values, d, target + x * depth_ + part);
      }
    }
  }

  const Value* data_;
  const Value* mask_;
  Int height_, width_, channels_, depth_;
  Int offset_ = 0;
  Int held_[kRing] = {-1, -1, -1, -1};
  float* memory_;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::grouped
HWY_AFTER_NAMESPACE();
#endif
