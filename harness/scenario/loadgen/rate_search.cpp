#include "harness/scenario/loadgen/rate_search.hpp"

#include <array>

namespace harness::loadgen {
namespace {

// Queries that come at random wait for each other: at 70 % of the capacity few do.
constexpr double kFirst = 0.7;
constexpr double kUp = 1.3;
constexpr double kDown = 0.6;
constexpr double kLowest = 0.01;
constexpr double kClose = 1.1;
constexpr double kHighest = 64;  // times the capacity: batches may be that much faster

}  // namespace

double highest_rate(double capacity, const std::function<bool(double rate)>& fits) {
  double good = 0;
  double bad = 0;
  double rate = kFirst * capacity;
  // One hiccup of the machine is no bound.
  const auto holds = [&](double tried) { return fits(tried) || fits(tried); };
  while (good == 0 || bad == 0) {
    if (holds(rate)) {
      good = rate;
      rate *= kUp;
      if (bad == 0 && rate > kHighest * capacity) return good;
    } else {
      bad = rate;
      rate *= kDown;
      if (good == 0 && rate < kLowest * capacity) return 0;
    }
  }
  while (bad > good * kClose) {
    const double middle = (good + bad) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  return good;
}

std::optional<double> rate_factor(std::size_t attempt) {
  // First a little less, then ever more: what fails again and again is on a machine that others
  // use.
  constexpr std::array kLess = {0.95, 0.95, 0.9, 0.8, 0.6, 0.4};
  if (attempt >= kLess.size()) return std::nullopt;
  return kLess[attempt];
}

}  // namespace harness::loadgen
