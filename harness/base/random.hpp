// Counter-based random numbers: each is a hash of its key and its number, so that it depends
// neither on the order of the draws nor on the standard library.
#pragma once

#include <cstdint>

namespace harness {

/// Output `counter`, from 0 on, of SplitMix64 (Steele, Lea, Flood 2014) started at `key`.
constexpr std::uint64_t splitmix64(std::uint64_t key, std::uint64_t counter) {
  std::uint64_t z = key + (counter + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace harness
