#include "harness/stats/fisher.hpp"

#include <algorithm>
#include <cmath>

namespace harness {
namespace {

/// Of the number of ways to choose `k` out of `n`.
double log_ways(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t of) {
    return std::lgamma(static_cast<double>(of) + 1);
  };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

}  // namespace

double excess_by_chance(const EventCount& first, const EventCount& second) {
  const std::size_t events = first.events + second.events;
  const double all = log_ways(first.trials + second.trials, events);
  double sum = 0;
  for (std::size_t k = second.events; k <= std::min(events, second.trials); ++k) {
    if (events - k > first.trials) continue;
    sum += std::exp(log_ways(second.trials, k) + log_ways(first.trials, events - k) - all);
  }
  return std::min(1.0, sum);
}

}  // namespace harness
