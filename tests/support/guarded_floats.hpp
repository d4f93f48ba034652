// Floats at the begin of a cache line, with guards behind them that tell of what was written there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

class Floats {
 public:
  explicit Floats(std::size_t count) : count_(count), memory_(count + kGuards + 16, kGuard) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    offset_ = (64 - address % 64) % 64 / sizeof(float);
  }
  float* data() { return memory_.data() + offset_; }
  float& operator[](std::size_t i) { return data()[i]; }
  std::size_t size() const { return count_; }
  bool intact() const {
    const auto from = memory_.begin() + static_cast<std::ptrdiff_t>(offset_ + count_);
    return std::all_of(from, from + kGuards, [](float value) { return value == kGuard; });
  }

 private:
  static constexpr float kGuard = 1234.5F;
  static constexpr std::size_t kGuards = 64;

  std::size_t count_, offset_ = 0;
  std::vector<float> memory_;
};

/// In the Euclidean norm.
inline double relative_error(Floats& actual, const std::vector<double>& expected) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(actual[i] - expected[i], 2);
    norm += std::pow(expected[i], 2);
  }
  return norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
}
