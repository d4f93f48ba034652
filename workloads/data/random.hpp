// Streams of random numbers, each with a key from what it is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "harness/base/random.hpp"

namespace harness::workloads {

/// A key for one stream from the words that name it.
template <typename... Words>
constexpr std::uint64_t stream_key(Words... words) {
  std::uint64_t key = 0;
  ((key = splitmix64(key + static_cast<std::uint64_t>(words), 0)), ...);
  return key;
}

/// Draws from one stream, in order; copies continue independently from the same place.
class CounterRandom {
 public:
  explicit constexpr CounterRandom(std::uint64_t key) : key_(key) {}

  constexpr std::uint64_t next() { return splitmix64(key_, counter_++); }
  /// Uniform in [0, n); the bias of at most n / 2^32 is the price of never rejecting.
  constexpr std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }
  /// Uniform in [low, high], both included.
  constexpr int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint32_t>(high - low + 1)));
  }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

/// 0 to count - 1, each once, in an order drawn from `random`.
inline std::vector<std::int64_t> shuffled(std::int64_t count, CounterRandom random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
  }
  return order;
}

}  // namespace harness::workloads
