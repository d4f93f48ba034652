// The exact distribution of Mann and Whitney's statistic.
#pragma once

#include <cstddef>
#include <vector>

namespace harness {

/// P(U <= u) for u = 0, 1, ... as far as it stays at or below `tail`, where U counts the pairs in
/// which the sample of the second side is the smaller one, `n` and `m` samples from one continuous
/// distribution. Precondition: 1 <= n, m <= kMostUnpaired.
std::vector<double> rank_sum_tail(std::size_t n, std::size_t m, double tail);

}  // namespace harness
