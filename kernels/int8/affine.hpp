// Numbers in eight bits: activations as unsigned integers of an affine scale per tensor, weights as
// signed integers, symmetric, with a scale for each output channel. Needs no LibTorch.
#pragma once

#include <cstdint>

namespace harness::kernels {

/// What a tensor's values lay between; 0 is always within, since padding and ReLU give it.
struct Range {
  float low = 0, high = 0;
  bool operator==(const Range&) const = default;
};

/// value = scale * (integer - zero), integers from 0 to 255.
struct Affine {
  float scale = 1;
  std::int32_t zero = 0;
  bool operator==(const Affine&) const = default;
};

/// The one whose 256 values cover `range`, 0 exactly among them. Throws std::invalid_argument for a
/// range that is not finite or does not hold 0.
Affine affine_of(const Range& range);

/// The largest magnitude of a weight's integer.
inline constexpr int kLargestWeight = 127;

/// Whether products of eight bits are added in 32. x86 without VNNI adds two neighbours in 16 bits,
/// where 255 * 127 twice is too much: there two neighbours of one sign are at most kLargestPair
/// together.
bool adds_in_32_bits();
inline constexpr int kLargestPair = 128;

}  // namespace harness::kernels
