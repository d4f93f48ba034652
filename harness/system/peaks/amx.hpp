// AMX's tile registers, for kernels that multiply in them. x86 alone.
#pragma once

#include <asm/prctl.h>
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace harness {

/// All eight tiles: 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Whether there are tiles, and the kernel hands them out: it does so on request only (since Linux
/// 5.16).
inline bool has_amx_tiles() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & (1U << 24)) != 0 &&
         ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace harness
