// Equality that no rounding blurs.
#pragma once

#include <bit>
#include <cstdint>

namespace harness {

/// Also of two numbers that are none, which == never calls the same.
inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace harness
