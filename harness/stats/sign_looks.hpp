// A sign test that is looked at more than once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace harness {

struct SignLook {
  std::size_t agreeing = 0;  ///< signs that have to agree; one more than there are: none suffice
  double spent = 0;  ///< probability that fair signs agree so at this look or at one before it
};

/// How many of the first `sizes[i]` signs have to agree at look i, so that fair independent signs
/// do so at any of the looks up to this one with probability `errors[i]` at most: as few as
/// possible, one look after the other. What a look cannot spend, since counts are whole, later ones
/// have. The probabilities are computed, not approximated. Throws std::invalid_argument unless both
/// are of one length, neither falls and the errors lie in [0, 0.5).
std::vector<SignLook> sign_looks(std::span<const std::size_t> sizes,
                                 std::span<const double> errors);

}  // namespace harness
