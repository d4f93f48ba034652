// Sums of products of a few rows and vectors, kept in registers. Included once for each instruction
// set, so the guard toggles.
#if defined(HARNESS_KERNELS_BLOCK_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HARNESS_KERNELS_BLOCK_SUMS_INL
#undef HARNESS_KERNELS_BLOCK_SUMS_INL
#else
#define HARNESS_KERNELS_BLOCK_SUMS_INL
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::HWY_NAMESPACE {

/// c[r][v] += a[k][r] b[k][v] over `outer` times kInner k, where a[k][r] lies at a[k * kStep + r *
/// kRowStep] within one of `outer`, which are `a_outer` apart. What is there is added at the end
/// and not summed on: rounding errors of a long sum would grow with the square root of its length,
/// those of parts do not.
template <class D, int kR, int kV, int kInner, int kStep, int kRowStep>
HWY_INLINE void sum_block(const float* a, std::int64_t a_outer, const float* b, std::int64_t b_step,
                          std::int64_t b_vector, std::int64_t outer, float* c, std::int64_t c_row,
                          bool add) {
  namespace hn = hwy::HWY_NAMESPACE;
  using V = hn::Vec<D>;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(D()));
  const D d;
  V sum[kR][kV];
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) {
      sum[r][v] = hn::Zero(d);
    }
  }
  for (std::int64_t o = 0; o < outer; ++o) {
#pragma GCC unroll 4
    for (int k = 0; k < kInner; ++k) {
      V vectors[kV];
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) vectors[v] = hn::Load(d, b + v * b_vector);
#pragma GCC unroll 16
      for (int r = 0; r < kR; ++r) {
        const V value = hn::Set(d, a[k * kStep + r * kRowStep]);
#pragma GCC unroll 4
        for (int v = 0; v < kV; ++v) sum[r][v] = hn::MulAdd(value, vectors[v], sum[r][v]);
      }
      b += b_step;
    }
    a += a_outer;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) {
      float* const to = c + r * c_row + v * kLanes;
      hn::Store(add ? hn::Add(sum[r][v], hn::Load(d, to)) : sum[r][v], d, to);
    }
  }
}

}  // namespace harness::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
