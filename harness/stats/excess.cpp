#include "harness/stats/excess.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <vector>

namespace harness {
namespace {

/// The part of the error that goes to not knowing how often either outcome comes.
constexpr double kNuisance = 0.1;
/// Shares of either outcome that are tried, less one.
constexpr int kShares = 8;
/// Halvings of [0, 1]: to less than a thousandth.
constexpr int kHalvings = 11;

/// P(worse - better <= `most`) of `n` trials.
double difference_tail(std::size_t n, double worse, double better, std::ptrdiff_t most) {
  const double neither = 1 - worse - better;
  std::vector<double> ways(2 * n + 1, 0);  // by difference + n
  ways[n] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    double left = 0;  // ways[at - 1] before this trial
    for (std::size_t at = n - i - 1; at <= n + i + 1; ++at) {
      const double here = ways[at];
      const double right = at < 2 * n ? ways[at + 1] : 0;
      ways[at] = worse * left + neither * here + better * right;
      left = here;
    }
  }
  double sum = 0;
  const std::ptrdiff_t last = most + static_cast<std::ptrdiff_t>(n);
  for (std::ptrdiff_t at = 0; at <= last; ++at) sum += ways[static_cast<std::size_t>(at)];
  return sum;
}

}  // namespace

// Berger and Boos 1994: the share of trials with either outcome is unknown, so it is bounded first,
// with a part of the error, and the excess is tested at the worst of all shares up to that bound.
bool excess_below(const OutcomeCounts& counts, double limit, double error) {
  if (counts.n == 0) return false;
  const auto n = static_cast<double>(counts.n);
  const auto either = static_cast<double>(counts.worse + counts.better);
  const double nuisance = kNuisance * error;
  const double most =
      boost::math::binomial_distribution<>::find_upper_bound_on_p(n, either, nuisance);
  if (most < limit) return true;
  const std::ptrdiff_t difference =
      static_cast<std::ptrdiff_t>(counts.worse) - static_cast<std::ptrdiff_t>(counts.better);
  for (int step = 0; step <= kShares; ++step) {
    // From the largest on, which is the worst one but for odd and even differences.
    const double share = most - (most - limit) * step / kShares;
    const double tail =
        difference_tail(counts.n, (share + limit) / 2, (share - limit) / 2, difference);
    if (tail > error - nuisance) return false;
  }
  return true;
}

double excess_bound(const OutcomeCounts& counts, double error) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (excess_below(counts, middle, error) ? high : low) = middle;
  }
  return high;
}

}  // namespace harness
