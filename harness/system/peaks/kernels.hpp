// The loops behind the measured peaks. Each does a fixed amount of work whose result is known, so
// that a kernel that is wrong, or was optimised away, cannot report a peak.
#pragma once

#include <cstddef>
#include <string>

namespace harness {

/// Room for the result of any arithmetic kernel, in bytes; aligned to 64.
inline constexpr std::size_t kPeakResultBytes = 16384;

/// An arithmetic peak of one data type.
struct FlopKernel {
  std::string tag{};                            ///< fma.fp32
  std::string method{};                         ///< "AVX-512 multiply-add, 24 chains of 16 lanes"
  std::string reason{};                         ///< why this machine has none; `run` is then null
  double flops = 0;                             ///< of one call; a multiply-add counts two
  void (*run)(void* result) = nullptr;          ///< microseconds; registers only
  bool (*check)(const void* result) = nullptr;  ///< whether run() left what it must
};

/// fma.fp32 and fma.fp64 with the widest vectors that Highway knows for this CPU.
FlopKernel fma_fp32_kernel();
FlopKernel fma_fp64_kernel();
/// fma.bf16, accumulated in fp32: AMX, else AVX512_BF16, else none.
FlopKernel fma_bf16_kernel();

/// Copies with stores that bypass the caches where the CPU has them. Both ends aligned to 64,
/// `bytes` a multiple of 1024.
void stream_copy(const void* from, void* to, std::size_t bytes);
/// How stream_copy() stores.
std::string stream_copy_method();

}  // namespace harness
