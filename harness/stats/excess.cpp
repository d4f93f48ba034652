#include "harness/stats/excess.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace harness {
namespace {

/// The probability of outcomes changes little over a deviation of shares, sqrt(1 / n) / 2: so many
/// shares are tried for each...
constexpr double kStepsOfDeviation = 12;
/// ... and what the worst share between two of them adds is less than this part of the error.
constexpr double kBetweenSteps = 0.01;
/// Halvings of [0, 1]: to less than a thousandth.
constexpr int kHalvings = 11;
/// Log-likelihoods closer than this are the same.
constexpr double kRounding = 1e-9;

double log_likelihood(double count, double probability) {
  return count == 0 ? 0 : count * std::log(probability);
}

/// How much better outcomes are told by the shares that were seen than by the likeliest ones whose
/// excess is `limit`: the logarithm of the ratio, negative where the excess seen is above it.
double evidence(double n, double worse, double better, double limit) {
  const double neither = n - worse - better;
  const double seen = log_likelihood(worse, worse / n) + log_likelihood(better, better / n) +
                      log_likelihood(neither, neither / n);
  // The derivative by the share of better, times all denominators, is quadratic.
  const double b = (worse + better) * (1 - limit) - 2 * limit * (better + neither);
  const double share =
      std::clamp((b + std::sqrt(b * b + 8 * n * better * limit * (1 - limit))) / (4 * n), 0.0,
                 (1 - limit) / 2);
  const double at_limit = log_likelihood(worse, share + limit) + log_likelihood(better, share) +
                          log_likelihood(neither, 1 - limit - 2 * share);
  const double ratio = std::max(0.0, seen - at_limit);
  return worse - better < limit * n ? ratio : -ratio;
}

/// For each number of worse outcomes, from 0, the least number of better ones that speaks against
/// an excess of `limit` as clearly as `counts` do. Ends where no number does.
std::vector<std::size_t> as_clear_as(const OutcomeCounts& counts, double limit) {
  const auto n = static_cast<double>(counts.n);
  const double seen =
      evidence(n, static_cast<double>(counts.worse), static_cast<double>(counts.better), limit);
  std::vector<std::size_t> least;
  std::size_t better = 0;
  for (std::size_t worse = 0; worse <= counts.n; ++worse) {
    const auto falls_short = [&] {
      return evidence(n, static_cast<double>(worse), static_cast<double>(better), limit) <
             seen - kRounding;
    };
    // The more worse ones, the more better ones it takes.
    while (better + worse <= counts.n && falls_short()) ++better;
    if (better + worse > counts.n) break;
    least.push_back(better);
  }
  return least;
}

/// log(0!) to log(n!).
std::vector<double> log_factorials(std::size_t n) {
  std::vector<double> logs(n + 1, 0);
  for (std::size_t i = 2; i <= n; ++i) logs[i] = logs[i - 1] + std::log(static_cast<double>(i));
  return logs;
}

/// How likely numbers of worse and better outcomes are.
class Likelihood {
 public:
  Likelihood(const std::vector<double>& log_factorial, double worse, double better)
      : log_factorial_(log_factorial),
        worse_(std::log(worse)),
        better_(std::log(better)),
        neither_(std::log(std::max(0.0, 1 - worse - better))) {}

  double of(std::size_t worse, std::size_t better) const {
    const std::size_t n = log_factorial_.size() - 1;
    const std::size_t neither = n - worse - better;
    return std::exp(log_factorial_[n] - log_factorial_[worse] - log_factorial_[better] -
                    log_factorial_[neither] + times(worse, worse_) + times(better, better_) +
                    times(neither, neither_));
  }

 private:
  /// Of probability 0 none are likely.
  static double times(std::size_t count, double log) {
    return count == 0 ? 0 : static_cast<double>(count) * log;
  }

  const std::vector<double>& log_factorial_;
  double worse_, better_, neither_;  ///< logarithms of probabilities
};

/// The probability of the outcomes that as_clear_as() gives, less what is far below `error`.
double probability_of(const std::vector<std::size_t>& least_better,
                      const std::vector<double>& log_factorial, double worse, double better,
                      double error) {
  const double negligible = error * 1e-9;
  const std::size_t n = log_factorial.size() - 1;
  const Likelihood likelihood(log_factorial, worse, better);
  const double share = worse < 1 ? std::min(1.0, better / (1 - worse)) : 1;
  double sum = 0;
  for (std::size_t w = 0; w < least_better.size(); ++w) {
    // From the likeliest number of better ones, or the nearest that counts, both ways.
    const auto likeliest = static_cast<std::size_t>(share * static_cast<double>(n - w));
    const std::size_t start = std::clamp(likeliest, least_better[w], n - w);
    const auto add = [&](std::size_t b) {
      const double probability = likelihood.of(w, b);
      sum += probability;
      return probability > negligible;
    };
    std::size_t b = start;
    while (b <= n - w && add(b)) ++b;
    b = start;
    while (b > least_better[w] && add(b - 1)) --b;
  }
  return sum;
}

}  // namespace

// Barnard's way for two shares: outcomes are ordered by how clearly they speak against the limit,
// and those at least as clear as the one seen have to be rare at the worst shares whose excess is
// the limit. How often better ones come is not known, so all shares are tried.
bool excess_below(const OutcomeCounts& counts, double limit, double error) {
  const double excess = static_cast<double>(counts.worse) - static_cast<double>(counts.better);
  if (counts.n == 0 || excess >= limit * static_cast<double>(counts.n)) return false;
  const std::vector<std::size_t> least = as_clear_as(counts, limit);
  const std::vector<double> logs = log_factorials(counts.n);
  const double steps = std::ceil(kStepsOfDeviation * std::sqrt(static_cast<double>(counts.n)));
  for (double step = 0; step <= steps; ++step) {
    const double better = (1 - limit) / 2 * step / steps;
    const double probability = probability_of(least, logs, better + limit, better, error);
    if (probability > (1 - kBetweenSteps) * error) return false;
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
