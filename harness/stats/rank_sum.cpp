#include "harness/stats/rank_sum.hpp"

namespace harness {
namespace {

/// A probability that is the level itself must not hang on how it was rounded.
constexpr double kSlack = 1e-12;

}  // namespace

// The number of ways to get U = u from n and m samples is the coefficient of q^u in the Gaussian
// binomial coefficient (n+m choose n); it is built up factor by factor, (1 - q^(m+i)) / (1 - q^i).
// Mann and Whitney 1947; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed.,
// section 4.1 and comment 4.
std::vector<double> rank_sum_tail(std::size_t n, std::size_t m, double tail) {
  const std::size_t most = n * m / 2;
  std::vector<double> ways(most + 1, 0);
  ways[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t u = most; u >= m + i && u <= most; --u) ways[u] -= ways[u - m - i];
    for (std::size_t u = i; u <= most; ++u) ways[u] += ways[u - i];
    // Divided on the way, so that the numbers stay within a double: (m+i choose i) goes on growing.
    const double factor = static_cast<double>(i) / static_cast<double>(m + i);
    for (double& count : ways) count *= factor;
  }
  std::vector<double> probabilities;
  double sum = 0;
  for (const double count : ways) {
    sum += count;
    if (sum > tail * (1 + kSlack)) break;
    probabilities.push_back(sum);
  }
  return probabilities;
}

}  // namespace harness
