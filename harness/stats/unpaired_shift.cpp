#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "harness/stats/stats.hpp"

namespace harness {
namespace {

constexpr std::size_t kMost = 300;
/// A probability that is the level itself must not hang on how it was rounded.
constexpr double kSlack = 1e-12;

// P(U <= u) for u = 0, 1, ... as far as it stays at or below `tail`, where U counts the pairs in
// which the sample of the second side is the smaller one, both sides from one continuous
// distribution. The number of ways to get U = u from n and m samples is the coefficient of q^u in
// the Gaussian binomial coefficient (n+m choose n); it is built up factor by factor, (1 - q^(m+i))
// / (1 - q^i). Mann and Whitney 1947; Hollander, Wolfe and Chicken, Nonparametric Statistical
// Methods, 3rd ed., section 4.1 and comment 4.
std::vector<double> lower_tail(std::size_t n, std::size_t m, double tail) {
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

}  // namespace

// The k-th smallest and k-th largest of all differences bound the shift with a confidence of
// 1 - 2 P(U <= k - 1): the test of that shift would not refuse it (Lehmann, Nonparametrics,
// section 2.6).
Interval unpaired_shift(std::span<const double> base, std::span<const double> candidate,
                        double confidence) {
  if (!(confidence > 0 && confidence < 1)) throw std::invalid_argument("confidence out of (0, 1)");
  if (base.size() > kMost || candidate.size() > kMost) {
    throw std::invalid_argument("more samples than an exact interval is computed for");
  }
  std::vector<double> differences;
  differences.reserve(base.size() * candidate.size());
  for (const double b : base) {
    for (const double c : candidate) differences.push_back(c - b);
  }
  Interval shift;
  shift.center = median(differences);  // refuses what is empty or not finite
  std::sort(differences.begin(), differences.end());
  const std::vector<double> tail = lower_tail(base.size(), candidate.size(), (1 - confidence) / 2);
  if (tail.empty()) return shift;
  const std::size_t k = tail.size();  // 1-based rank of the lower bound
  shift.low = differences[k - 1];
  shift.high = differences[differences.size() - k];
  shift.confidence = 1 - 2 * tail.back();
  return shift;
}

}  // namespace harness
