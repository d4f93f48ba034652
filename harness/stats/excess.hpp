// How much more often one of two outcomes comes than the other.
#pragma once

#include <cstddef>

namespace harness {

/// Of `n` independent trials `worse` ended one way, `better` the other way, the rest neither.
struct OutcomeCounts {
  std::size_t n = 0;
  std::size_t worse = 0;
  std::size_t better = 0;
};

/// Whether the excess, the probability of worse less that of better, is surely below `limit`: where
/// it is not, the answer is yes with probability `error` at most, whatever else is unknown.
/// Precondition: worse + better <= n, 0 < limit <= 1, 0 < error < 1.
bool excess_below(const OutcomeCounts& counts, double limit, double error);

/// The upper bound of the excess with confidence 1 - `error`, to three digits: the smallest limit
/// that it is surely below, from 0 to 1. Precondition as above.
double excess_bound(const OutcomeCounts& counts, double error);

}  // namespace harness
