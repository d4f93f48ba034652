// Whose turn it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace harness {

/// The order of `sides` sides in round `round` (1-based): a row of a balanced Latin square
/// (Williams). Over as many rounds as `rounds_of_balance()` says each side has each place equally
/// often and follows each other one equally often, so that neither drift nor what a neighbour
/// leaves behind favours one. Two sides: A B, B A, ....
std::vector<std::size_t> balanced_order(std::int64_t round, std::size_t sides);

/// Rounds until the square is whole: `sides`, or twice as many where that is odd.
std::int64_t rounds_of_balance(std::size_t sides);

/// How many rounds of the square lie before those of cluster `cluster` (1-based), where each has
/// `rounds`. A cluster goes on where the one before it ended, so that over all of them each row
/// comes equally often, or once more than another. Where clusters are whole squares, each begins
/// one row later than the one before it.
std::int64_t rounds_before(std::int64_t cluster, std::int64_t rounds, std::size_t sides);

}  // namespace harness
