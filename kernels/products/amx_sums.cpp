#include "kernels/products/amx_sums.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>

namespace harness::kernels::products {

#if defined(__x86_64__)
namespace {

#define HARNESS_AMX __attribute__((target("avx512f,amx-tile,amx-bf16")))

using Int = std::int64_t;

constexpr int kTileRows = 16;
constexpr int kTilePairs = 16;  // of a row: 64 bytes
constexpr int kLine = 64;

// Tiles 0 to 3 are sums (two of rows by two of columns), 4 and 5 rows, 6 and 7 weights.
struct alignas(kLine) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == kLine);

std::atomic<bool> allowed{true};
thread_local Int configured = 0;  // rows; 0: the tiles are free

/// GCC does not know that instructions on tiles read memory: what was written is there behind this,
/// and what is written later comes later.
template <class T>
void let_tiles_see(const T& what) {
  asm volatile("" : : "r"(&what) : "memory");
}

HARNESS_AMX void configure(Int rows) {
  if (rows == configured) return;
  TileConfig config;
  std::fill_n(config.row_bytes, 8, kLine);
  const auto upper = static_cast<std::uint8_t>(std::min<Int>(rows, kTileRows));
  const auto lower = static_cast<std::uint8_t>(std::max<Int>(rows - kTileRows, 1));
  for (const int tile : {0, 1, 4}) config.rows[tile] = upper;
  for (const int tile : {2, 3, 5}) config.rows[tile] = lower;
  for (const int tile : {6, 7}) config.rows[tile] = kTilePairs;
  let_tiles_see(config);
  _tile_loadconfig(&config);
  configured = rows;
}

/// A tile's depth of rows and weights: strides in bytes.
template <bool kLower, int kV>
HARNESS_AMX inline void add_products(const void* rows, Int row_bytes, const void* weights) {
  constexpr Int kWeightBytes = Int{kV} * kLine;
  _tile_loadd(4, rows, row_bytes);
  _tile_loadd(6, weights, kWeightBytes);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kV == 2) {
    _tile_loadd(7, static_cast<const char*>(weights) + kLine, kWeightBytes);
    _tile_dpbf16ps(1, 4, 7);
  }
  if constexpr (kLower) {
    _tile_loadd(5, static_cast<const char*>(rows) + kTileRows * row_bytes, row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    if constexpr (kV == 2) _tile_dpbf16ps(3, 5, 7);
  }
}

template <bool kLower, int kV>
HARNESS_AMX void sums_of(const Bf16Sums& task, float* sums) {
  _tile_zero(0);
  if constexpr (kV == 2) _tile_zero(1);
  if constexpr (kLower) _tile_zero(2);
  if constexpr (kLower && kV == 2) _tile_zero(3);
  const Bf16* rows = task.from;
  const Bf16* panel = task.panel;
  const char* ahead = task.ahead.from;
  const Int row_bytes = task.from_row * static_cast<Int>(sizeof(Bf16));
  constexpr Int kPanelStep = Int{kTilePairs} * 2 * kV * kBf16Columns;
  Int pair = 0;
  for (; pair + kTilePairs <= task.pairs; pair += kTilePairs) {
    add_products<kLower, kV>(rows, row_bytes, panel);
    rows += Int{2} * kTilePairs;
    panel += kPanelStep;
    for (Int i = 0; i < kTilePairs * task.ahead.step; i += kLine) {
      __builtin_prefetch(ahead + i, 0, 2);
    }
    ahead += kTilePairs * task.ahead.step;
  }
  if (const Int left = task.pairs - pair; left > 0) {
    // What lies behind is somebody else's, and may be a NaN.
    alignas(kLine) Bf16 last_rows[kLower ? kAmxRows : kTileRows][2 * kTilePairs] = {};
    alignas(kLine) Bf16 last_panel[kPanelStep] = {};
    for (Int r = 0; r < task.rows; ++r) {
      std::copy_n(rows + r * task.from_row, 2 * left, last_rows[r]);
    }
    std::copy_n(panel, left * 2 * kV * kBf16Columns, last_panel);
    let_tiles_see(last_rows);
    let_tiles_see(last_panel);
    add_products<kLower, kV>(last_rows, kLine, last_panel);
    let_tiles_see(last_rows);
  }
  constexpr Int kSumBytes = Int{kV} * kLine;
  constexpr Int kLowerSums = Int{kTileRows} * kV * kBf16Columns;
  _tile_stored(0, sums, kSumBytes);
  if constexpr (kV == 2) _tile_stored(1, sums + kBf16Columns, kSumBytes);
  if constexpr (kLower) _tile_stored(2, sums + kLowerSums, kSumBytes);
  if constexpr (kLower && kV == 2) _tile_stored(3, sums + kLowerSums + kBf16Columns, kSumBytes);
}

bool machine_has_amx() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1U << 22;
  constexpr unsigned kTile = 1U << 24;
  if ((d & kBf16) == 0 || (d & kTile) == 0) return false;
  // As harness/system/peaks does, which knows nothing of kernels: Linux hands out tile registers on
  // request only (since 5.16).
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_amx_sums() {
  static const bool has = machine_has_amx();
  return has && allowed;
}

void allow_amx_sums(bool may) { allowed = may; }

void amx_sums(const Bf16Sums& task, float* sums) {
  configure(task.rows);
  let_tiles_see(*task.from);
  const bool lower = task.rows > kTileRows;
  if (task.vectors == kBf16Panels) {
    lower ? sums_of<true, 2>(task, sums) : sums_of<false, 2>(task, sums);
  } else {
    lower ? sums_of<true, 1>(task, sums) : sums_of<false, 1>(task, sums);
  }
}

HARNESS_AMX void release_tiles() {
  if (configured == 0) return;
  _tile_release();
  configured = 0;
}
#else
bool has_amx_sums() { return false; }
void allow_amx_sums(bool) {}
void amx_sums(const Bf16Sums&, float*) {}
void release_tiles() {}
#endif

}  // namespace harness::kernels::products
