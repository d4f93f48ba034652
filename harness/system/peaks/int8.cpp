#include "harness/system/peaks/int8.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include "harness/system/peaks/amx.hpp"
#endif

#include <cstddef>
#include <cstdint>

namespace harness {
namespace {

#if defined(__x86_64__)

constexpr int kSteps = 4096;
constexpr int kChains = 12;
constexpr int kQuad = 4;  // products that one lane adds up

/// Operands that differ from place to place. Two products stay within 16 bits and all of a call
/// within 32, as they must where AVX2 adds them.
std::uint8_t left_value(int i) { return static_cast<std::uint8_t>(1 + (i * 5) % 100); }
std::int8_t right_value(int i) { return static_cast<std::int8_t>((i * 11) % 127 - 63); }

struct Operands {
  alignas(64) std::uint8_t left[64];
  alignas(64) std::int8_t right[64];
};

const Operands& operands() {
  static const Operands values = [] {
    Operands made{};
    for (int i = 0; i < 64; ++i) {
      made.left[i] = left_value(i);
      made.right[i] = right_value(i);
    }
    return made;
  }();
  return values;
}

// clang-format off
#define HARNESS_CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
// clang-format on

/// `lanes` of 32 bits a chain.
template <int lanes>
bool check_chains(const void* result) {
  const auto* values = static_cast<const std::int32_t*>(result);
  for (int chain = 0; chain < kChains; ++chain) {
    for (int lane = 0; lane < lanes; ++lane) {
      std::int64_t step = 0;
      for (int i = kQuad * lane; i < kQuad * (lane + 1); ++i) {
        step += std::int64_t{left_value(i)} * right_value(i);
      }
      if (values[chain * lanes + lane] != chain + kSteps * step) return false;
    }
  }
  return true;
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"), noinline)) void run_avx512(
    void* result) {
  __m512i left = _mm512_load_si512(operands().left);
  __m512i right = _mm512_load_si512(operands().right);
  // The compiler must not know the operands, or it may add all steps up beforehand.
  asm volatile("" : "+v"(left), "+v"(right));
#define HARNESS_START(I) __m512i x##I = _mm512_set1_epi32(I);
#define HARNESS_STEP(I) x##I = _mm512_dpbusd_epi32(x##I, left, right);
#define HARNESS_KEEP(I) \
  _mm512_storeu_si512(static_cast<std::int32_t*>(result) + std::ptrdiff_t{I} * 16, x##I);
  HARNESS_CHAINS(HARNESS_START)
  for (int step = 0; step < kSteps; ++step) {
    HARNESS_CHAINS(HARNESS_STEP)
  }
  HARNESS_CHAINS(HARNESS_KEEP)
#undef HARNESS_STEP
}

// The compiler must not know that the products are the same in each step.
__attribute__((target("avx512f,avx512bw,avx512vl"), noinline)) void run_avx512_pairs(void* result) {
  const __m512i left = _mm512_load_si512(operands().left);
  const __m512i right = _mm512_load_si512(operands().right);
  const __m512i ones = _mm512_set1_epi16(1);
#define HARNESS_STEP(I)                                                                         \
  {                                                                                             \
    __m512i other = left;                                                                       \
    asm volatile("" : "+v"(other));                                                             \
    x##I = _mm512_add_epi32(x##I, _mm512_madd_epi16(_mm512_maddubs_epi16(other, right), ones)); \
  }
  HARNESS_CHAINS(HARNESS_START)
  for (int step = 0; step < kSteps; ++step) {
    HARNESS_CHAINS(HARNESS_STEP)
  }
  HARNESS_CHAINS(HARNESS_KEEP)
#undef HARNESS_START
#undef HARNESS_STEP
#undef HARNESS_KEEP
}

#define HARNESS_LOAD(FROM) _mm256_load_si256(reinterpret_cast<const __m256i*>(FROM))
#define HARNESS_START(I) __m256i x##I = _mm256_set1_epi32(I);
#define HARNESS_KEEP(I)                                                                       \
  _mm256_storeu_si256(                                                                        \
      reinterpret_cast<__m256i*>(static_cast<std::int32_t*>(result) + std::ptrdiff_t{I} * 8), \
      x##I);

__attribute__((target("avx2,avxvnni"), noinline)) void run_avx_vnni(void* result) {
  __m256i left = HARNESS_LOAD(operands().left);
  __m256i right = HARNESS_LOAD(operands().right);
  asm volatile("" : "+x"(left), "+x"(right));
#define HARNESS_STEP(I) x##I = _mm256_dpbusd_avx_epi32(x##I, left, right);
  HARNESS_CHAINS(HARNESS_START)
  for (int step = 0; step < kSteps; ++step) {
    HARNESS_CHAINS(HARNESS_STEP)
  }
  HARNESS_CHAINS(HARNESS_KEEP)
#undef HARNESS_STEP
}

__attribute__((target("avx2"), noinline)) void run_avx2(void* result) {
  const __m256i left = HARNESS_LOAD(operands().left);
  const __m256i right = HARNESS_LOAD(operands().right);
  const __m256i ones = _mm256_set1_epi16(1);
  HARNESS_CHAINS(HARNESS_START)
  for (int step = 0; step < kSteps; ++step) {
#define HARNESS_STEP(I)                                                                         \
  {                                                                                             \
    __m256i other = left;                                                                       \
    asm volatile("" : "+x"(other));                                                             \
    x##I = _mm256_add_epi32(x##I, _mm256_madd_epi16(_mm256_maddubs_epi16(other, right), ones)); \
  }
    HARNESS_CHAINS(HARNESS_STEP)
#undef HARNESS_STEP
  }
  HARNESS_CHAINS(HARNESS_KEEP)
}

// AMX: C (16 x 16 of 32 bits) += A (16 x 64 bytes) B (64 x 16 bytes, rows in fours), four times.
constexpr int kTileRows = 16;
constexpr int kTileDepth = 64;
constexpr int kTileSteps = 256;
constexpr int kTiles = 4;

struct Tiles {
  alignas(64) std::uint8_t left[kTileRows * kTileDepth];
  alignas(64) std::int8_t right[kTileDepth * kTileRows];
};

std::uint8_t tile_left(int row, int k) { return left_value(row + k); }
std::int8_t tile_right(int k, int column) { return right_value(3 * k + column); }

const Tiles& tiles() {
  static const Tiles values = [] {
    Tiles made{};
    for (int i = 0; i < kTileRows; ++i) {
      for (int k = 0; k < kTileDepth; ++k) {
        made.left[i * kTileDepth + k] = tile_left(i, k);
        made.right[(k / kQuad) * kQuad * kTileRows + kQuad * i + k % kQuad] = tile_right(k, i);
      }
    }
    return made;
  }();
  return values;
}

__attribute__((target("amx-tile,amx-int8"), noinline)) void run_amx(void* result) {
  static const TileConfig config;
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, tiles().left, 64);
  _tile_loadd(6, tiles().right, 64);
  for (int step = 0; step < kTileSteps; ++step) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 6);
    _tile_dpbusd(2, 4, 6);
    _tile_dpbusd(3, 4, 6);
  }
  auto* out = static_cast<std::int32_t*>(result);
  _tile_stored(0, out, 64);
  _tile_stored(1, out + 256, 64);
  _tile_stored(2, out + 512, 64);
  _tile_stored(3, out + 768, 64);
  _tile_release();
}

bool check_amx(const void* result) {
  const auto* values = static_cast<const std::int32_t*>(result);
  for (int row = 0; row < kTileRows; ++row) {
    for (int column = 0; column < kTileRows; ++column) {
      std::int64_t step = 0;
      for (int k = 0; k < kTileDepth; ++k) {
        step += std::int64_t{tile_left(row, k)} * tile_right(k, column);
      }
      for (int tile = 0; tile < kTiles; ++tile) {
        if (values[tile * 256 + row * 16 + column] != kTileSteps * step) return false;
      }
    }
  }
  return true;
}

struct Features {
  bool amx_int8 = false, avx512_vnni = false, avx512 = false, avx_vnni = false, avx2 = false;
};

Features features() {
  Features found;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  // __builtin_cpu_supports also asks whether the system saves the wide registers.
  found.avx2 = __builtin_cpu_supports("avx2") != 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    found.avx512 = __builtin_cpu_supports("avx512f") != 0 &&
                   __builtin_cpu_supports("avx512bw") != 0 &&
                   __builtin_cpu_supports("avx512vl") != 0;
    found.avx512_vnni = (c & (1U << 11)) != 0 && found.avx512;
    found.amx_int8 = (d & (1U << 25)) != 0 && has_amx_tiles();
  }
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    found.avx_vnni = (a & (1U << 4)) != 0 && found.avx2;
  }
  return found;
}

#endif  // __x86_64__

}  // namespace

FlopKernel fma_int8_kernel() {
  FlopKernel kernel;
  kernel.tag = "fma.int8";
#if defined(__x86_64__)
  const Features found = features();
  const auto chains = [&](const char* method, int lanes, void (*run)(void*),
                          bool (*check)(const void*)) {
    kernel.method = method;
    kernel.flops = 2.0 * kQuad * kSteps * kChains * lanes;
    kernel.run = run;
    kernel.check = check;
  };
  if (found.amx_int8) {
    kernel.method = "AMX tdpbusd, 4 tiles";
    kernel.flops = 2.0 * kTileSteps * kTiles * kTileRows * kTileRows * kTileDepth;
    kernel.run = run_amx;
    kernel.check = check_amx;
  } else if (found.avx512_vnni) {
    chains("AVX-512 vpdpbusd, 12 chains of 16 lanes", 16, run_avx512, check_chains<16>);
  } else if (found.avx_vnni) {
    chains("AVX vpdpbusd, 12 chains of 8 lanes", 8, run_avx_vnni, check_chains<8>);
  } else if (found.avx512) {
    chains("AVX-512 vpmaddubsw, vpmaddwd and vpaddd, 12 chains of 16 lanes", 16, run_avx512_pairs,
           check_chains<16>);
  } else if (found.avx2) {
    chains("AVX2 vpmaddubsw, vpmaddwd and vpaddd, 12 chains of 8 lanes", 8, run_avx2,
           check_chains<8>);
  } else {
    kernel.reason = "this CPU has no AVX2";
  }
#else
  kernel.reason = "no int8 kernel for this architecture";
#endif
  return kernel;
}

}  // namespace harness
