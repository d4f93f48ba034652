#include "kernels/products/bf16_sums.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>

#include "kernels/products/row_pointers.hpp"

namespace harness::kernels::products {

#if defined(__x86_64__)
namespace {

#define HARNESS_BF16 __attribute__((target("avx512f,avx512bf16")))

template <int kR, int kV>
HARNESS_BF16 void sums_of(const Bf16Sums& task, float* sums) {
  __m512 sum[kR][kV];
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kV; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  RowPointers<kR, Bf16> rows(task.from, task.from_row);
  const Bf16* panel = task.panel;
  const char* ahead = task.ahead.from;
  for (std::int64_t pair = 0; pair < task.pairs; ++pair) {
    __m512i weights[kV];
#pragma GCC unroll 2
    for (int v = 0; v < kV; ++v) weights[v] = _mm512_load_si512(panel + 2 * kBf16Columns * v);
#pragma GCC unroll 16
    for (int r = 0; r < kR; ++r) {
      int both = 0;
      std::memcpy(&both, rows.of(r), sizeof both);
      const __m512i value = _mm512_set1_epi32(both);
#pragma GCC unroll 2
      for (int v = 0; v < kV; ++v) {
        sum[r][v] = _mm512_dpbf16_ps(sum[r][v], reinterpret_cast<__m512bh>(value),
                                     reinterpret_cast<__m512bh>(weights[v]));
      }
    }
    rows.advance(2);
    panel += 2 * kBf16Columns * kV;
    __builtin_prefetch(ahead, 0, 2);
    __builtin_prefetch(ahead + task.ahead.step / 2, 0, 2);
    ahead += task.ahead.step;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kV; ++v) _mm512_store_ps(sums + (r * kV + v) * kBf16Columns, sum[r][v]);
  }
}

/// Calls sums_of for task.rows of 1 to kR.
template <int kR, int kV>
void sums_of_rows(const Bf16Sums& task, float* sums) {
  if constexpr (kR > 0) {
    if (task.rows < kR) return sums_of_rows<kR - 1, kV>(task, sums);
    sums_of<kR, kV>(task, sums);
  }
}

}  // namespace

bool has_bf16_sums() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bf16") != 0;
}

void bf16_sums(const Bf16Sums& task, float* sums) {
  if (task.vectors == kBf16Panels) {
    sums_of_rows<kBf16Rows, kBf16Panels>(task, sums);
  } else {
    sums_of_rows<kBf16Rows, 1>(task, sums);
  }
}
#else
bool has_bf16_sums() { return false; }
void bf16_sums(const Bf16Sums&, float*) {}
#endif

}  // namespace harness::kernels::products
