// Random fills of tensors: element i of a named tensor does not depend on any other.
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/base/random.hpp"

namespace harness::workloads {

/// 64-bit FNV-1a.
constexpr std::uint64_t fnv1a64(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  return hash;
}

/// In [-1, 1), a multiple of 2^-23: the fill of golden files.
constexpr double symmetric_uniform(std::uint64_t key, std::uint64_t counter) {
  return static_cast<double>(splitmix64(key, counter) >> 40) / 8388608.0 - 1.0;
}

/// Sample `counter` of the standard normal distribution. Only additions, multiplications, divisions
/// and square roots in double, so the same bits everywhere (its file is compiled without
/// contraction).
double standard_normal(std::uint64_t key, std::uint64_t counter);

/// The natural logarithm of x > 0 from the same exactly rounded operations; error below 2 ulp.
double portable_log(double x);

}  // namespace harness::workloads
