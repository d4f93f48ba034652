#include "harness/system/peaks/bf16.hpp"

#include "harness/system/peaks/kernels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include "harness/system/peaks/amx.hpp"
#endif

#include <cmath>
#include <cstdint>
#include <cstring>

namespace harness {
namespace {

#if defined(__x86_64__)

constexpr int kSteps = 4096;
constexpr int kChains = 24;
constexpr int kLanes = 16;

/// bf16 is the upper half of fp32; exact for the multiples of 1/128 used here.
std::uint16_t bf16_bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

/// Operand values in [1, 2) that use the mantissa's bits and differ from place to place.
float left_value(int i) { return 1.0F + static_cast<float>((i * 5) % 128) / 128.0F; }
float right_value(int i) { return 1.0F + static_cast<float>((i * 11 + 7) % 128) / 128.0F; }

/// The operands of vdpbf16ps: pairs of bf16, one pair a lane.
struct Pairs {
  alignas(64) std::uint16_t left[2 * kLanes];
  alignas(64) std::uint16_t right[2 * kLanes];
};

const Pairs& pairs() {
  static const Pairs values = [] {
    Pairs made{};
    for (int i = 0; i < 2 * kLanes; ++i) {
      made.left[i] = bf16_bits(left_value(i));
      made.right[i] = bf16_bits(right_value(i));
    }
    return made;
  }();
  return values;
}

// clang-format off
#define HARNESS_CHAINS(X)                               \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)               \
  X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)         \
  X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
// clang-format on

__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"), noinline)) void run_avx512(
    void* result) {
  const Pairs& operands = pairs();
  __m512i left_bits = _mm512_load_si512(operands.left);
  __m512i right_bits = _mm512_load_si512(operands.right);
  // The compiler must not know the operands, or it may add all steps up beforehand.
  asm volatile("" : "+v"(left_bits), "+v"(right_bits));
  __m512bh left;
  __m512bh right;
  std::memcpy(&left, &left_bits, sizeof left);
  std::memcpy(&right, &right_bits, sizeof right);
#define HARNESS_START(I) __m512 x##I = _mm512_set1_ps(static_cast<float>(I));
#define HARNESS_STEP(I) x##I = _mm512_dpbf16_ps(x##I, left, right);
#define HARNESS_KEEP(I) \
  _mm512_storeu_ps(static_cast<float*>(result) + std::ptrdiff_t{I} * kLanes, x##I);
  HARNESS_CHAINS(HARNESS_START)
  for (int step = 0; step < kSteps; ++step) {
    HARNESS_CHAINS(HARNESS_STEP)
  }
  HARNESS_CHAINS(HARNESS_KEEP)
}

/// Sums of up to 2^13 terms in fp32 stay within 2^-11 of the exact one.
bool is_near(float actual, double expected) {
  return std::abs(actual - expected) <= 5e-4 * std::abs(expected);
}

bool check_avx512(const void* result) {
  const float* values = static_cast<const float*>(result);
  for (int chain = 0; chain < kChains; ++chain) {
    for (int lane = 0; lane < kLanes; ++lane) {
      double step = 0;
      for (int i = 2 * lane; i < 2 * lane + 2; ++i) {
        step += static_cast<double>(left_value(i)) * right_value(i);
      }
      if (!is_near(values[chain * kLanes + lane], chain + kSteps * step)) return false;
    }
  }
  return true;
}

// AMX: C (16 x 16 fp32) += A (16 x 32 bf16) B (32 x 16 bf16, rows in pairs). Four independent C
// hide the latency of 52 cycles behind 16 of throughput (Intel's optimisation manual, chapter on
// AMX).
constexpr int kTileRows = 16;
constexpr int kTileDepth = 32;
constexpr int kTileSteps = 256;
constexpr int kTiles = 4;

struct Tiles {
  alignas(64) std::uint16_t left[kTileRows * kTileDepth];
  alignas(64) std::uint16_t right[kTileDepth * kTileRows];
};

// Small whole numbers: with 2^13 terms a sum stays exact.
float tile_left(int row, int k) { return static_cast<float>(1 + (row + k) % 3); }
float tile_right(int k, int column) { return static_cast<float>(1 + (k * 2 + column) % 4); }

const Tiles& tiles() {
  static const Tiles values = [] {
    Tiles made{};
    for (int i = 0; i < kTileRows; ++i) {
      for (int k = 0; k < kTileDepth; ++k) {
        made.left[i * kTileDepth + k] = bf16_bits(tile_left(i, k));
        made.right[(k / 2) * 2 * kTileRows + 2 * i + k % 2] = bf16_bits(tile_right(k, i));
      }
    }
    return made;
  }();
  return values;
}

__attribute__((target("amx-tile,amx-bf16"), noinline)) void run_amx(void* result) {
  static const TileConfig config;
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, tiles().left, 64);
  _tile_loadd(6, tiles().right, 64);
  for (int step = 0; step < kTileSteps; ++step) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 6);
    _tile_dpbf16ps(2, 4, 6);
    _tile_dpbf16ps(3, 4, 6);
  }
  float* out = static_cast<float*>(result);
  _tile_stored(0, out, 64);
  _tile_stored(1, out + 256, 64);
  _tile_stored(2, out + 512, 64);
  _tile_stored(3, out + 768, 64);
  _tile_release();
}

bool check_amx(const void* result) {
  const float* values = static_cast<const float*>(result);
  for (int row = 0; row < kTileRows; ++row) {
    for (int column = 0; column < kTileRows; ++column) {
      double step = 0;
      for (int k = 0; k < kTileDepth; ++k) step += tile_left(row, k) * tile_right(k, column);
      for (int tile = 0; tile < kTiles; ++tile) {
        if (!is_near(values[tile * 256 + row * 16 + column], kTileSteps * step)) return false;
      }
    }
  }
  return true;
}

struct Features {
  bool avx512_bf16 = false;
  bool amx_bf16 = false;
};

Features features() {
  Features found;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  // __builtin_cpu_supports also asks whether the system saves the wide registers.
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    found.avx512_bf16 = (a & (1U << 5)) != 0 && __builtin_cpu_supports("avx512f") != 0 &&
                        __builtin_cpu_supports("avx512bw") != 0 &&
                        __builtin_cpu_supports("avx512vl") != 0;
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    const bool instructions = (d & (1U << 22)) != 0;
    found.amx_bf16 = instructions && has_amx_tiles();
  }
  return found;
}

#endif  // __x86_64__

}  // namespace

FlopKernel fma_bf16_kernel() {
  FlopKernel kernel;
  kernel.tag = "fma.bf16";
#if defined(__x86_64__)
  const Features found = features();
  if (found.amx_bf16) {
    kernel.method = "AMX tdpbf16ps, 4 tiles";
    kernel.flops = 2.0 * kTileSteps * kTiles * kTileRows * kTileRows * kTileDepth;
    kernel.run = run_amx;
    kernel.check = check_amx;
  } else if (found.avx512_bf16) {
    kernel.method = "AVX-512 vdpbf16ps, 24 chains of 16 lanes";
    kernel.flops = 4.0 * kSteps * kChains * kLanes;
    kernel.run = run_avx512;
    kernel.check = check_avx512;
  } else {
    kernel.reason = "this CPU has neither AMX_BF16 nor AVX512_BF16";
  }
#else
  kernel.reason = "no bf16 kernel for this architecture";
#endif
  return kernel;
}

}  // namespace harness
