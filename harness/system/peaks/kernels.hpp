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

}  // namespace harness
