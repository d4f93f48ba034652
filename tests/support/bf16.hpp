// The bits of bf16, and memory for them that tells of what was written behind it.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tests/support/guarded_floats.hpp"

namespace harness::tests {

/// To nearest even, by the arithmetic of double.
inline float nearest_bf16(float value) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(value), &exponent);
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8));
}

inline std::uint16_t bf16_bits(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(nearest_bf16(value)) >> 16);
}

inline float widened(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Numbers of bf16 at the begin of a cache line, with guards behind them.
class Narrow {
 public:
  explicit Narrow(std::size_t count) : memory_((count + 1) / 2) {}
  std::uint16_t* data() { return reinterpret_cast<std::uint16_t*>(memory_.data()); }
  bool intact() const { return memory_.intact(); }

 private:
  Floats memory_;
};

}  // namespace harness::tests
