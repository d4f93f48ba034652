// Vectors of 16 channels and packed rows for grouped.cpp, the one file that is compiled for AVX-512
// and may include this: everything is in an unnamed namespace, so that no other file can be linked
// against code it cannot run.
#pragma once

#if defined(__x86_64__) && defined(__AVX512F__)
#include <immintrin.h>

#include <cstdint>
#include <cstdlib>

namespace harness::kernels {
// NOLINTBEGIN(misc-definitions-in-headers): one file includes it, see above.
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kTaps = 3;         // in each direction
constexpr std::int64_t kRowsOfTask = 32;  // output rows; a task reads up to two more
constexpr std::int64_t kRing = 4;         // packed rows that are kept

using Bf16 = std::uint16_t;
using Int = std::int64_t;

inline __m512 load(const float* from) { return _mm512_loadu_ps(from); }
inline __m512 load(const Bf16* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
inline void store(float* to, __m512 values) { _mm512_storeu_ps(to, values); }
// Where each of the 16 lanes finds channel 0 of its group among a pixel's packed channels.
template <int Group>
inline __m512i group_starts() {
  alignas(64) std::int32_t starts[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) starts[lane] = lane / Group * Group;
  return _mm512_load_si512(starts);
}

// Of a pixel's packed channels, channel `i` of its group, for each of the 16 lanes.
template <int Group>
inline __m512 spread(const float* pixel, int i) {
  if constexpr (Group >= kLanes) {
    return _mm512_set1_ps(pixel[i]);
  } else {
    return _mm512_permutexvar_ps(_mm512_add_epi32(group_starts<Group>(), _mm512_set1_epi32(i)),
                                 _mm512_loadu_ps(pixel));
  }
}

// Channels that the 16 lanes of a slice read.
template <int Group>
constexpr std::int64_t kDepth = Group > kLanes ? Group : kLanes;

template <int Group>
inline Int first_channel(Int slice) {
  return slice * kLanes / Group * Group;
}

// A few rows of one slice of an activation: float32, side by side, one pixel of zeros at both ends.
// Without it every pixel would be a kilobyte from the next, on few sets of the cache.
template <class Value, int Depth>
class Rows {
 public:
  Rows(const Value* data, const Value* mask, Int height, Int width, Int channels)
      : data_(data), mask_(mask), height_(height), width_(width), channels_(channels) {
    const Int floats = kRing * (width + 2) * Depth;
    memory_ = static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>(floats) * 4));
    if (memory_ == nullptr) std::abort();
    for (Int i = 0; i < floats; ++i) memory_[i] = 0;
  }
  ~Rows() { std::free(memory_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  void start(Int image, Int channel) {
    offset_ = image * height_ * width_ * channels_ + channel;
    for (Int& held : held_) held = -1;
  }
  // Row `y`, beginning with the pixel left of the first; null outside of the map.
  const float* row(Int y) {
    if (y < 0 || y >= height_) return nullptr;
    const Int slot = y % kRing;
    float* target = memory_ + slot * (width_ + 2) * Depth;
    if (held_[slot] != y) {
      pack(y, target + Depth);
      held_[slot] = y;
    }
    return target;
  }

 private:
  void pack(Int y, float* target) const {
    const Int begin = offset_ + y * width_ * channels_;
    for (Int x = 0; x < width_; ++x) {
      for (int part = 0; part < Depth; part += kLanes) {
        const Int at = begin + x * channels_ + part;
        // Pixels are far apart, which no hardware prefetcher follows: ask for the next row now.
        __builtin_prefetch(data_ + at + width_ * channels_, 0, 2);
        if (mask_ != nullptr) __builtin_prefetch(mask_ + at + width_ * channels_, 0, 2);
        __m512 values = load(data_ + at);
        if (mask_ != nullptr) {
          const __mmask16 positive =
              _mm512_cmp_ps_mask(load(mask_ + at), _mm512_setzero_ps(), _CMP_NLE_UQ);
          values = _mm512_maskz_mov_ps(positive, values);
        }
        _mm512_store_ps(target + x * Depth + part, values);
      }
    }
  }

  const Value* data_;
  const Value* mask_;
  Int height_, width_, channels_;
  Int offset_ = 0;
  Int held_[kRing] = {-1, -1, -1, -1};
  float* memory_ = nullptr;
};

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace harness::kernels
#endif
