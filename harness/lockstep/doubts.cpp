#include "harness/lockstep/doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

constexpr double kMostClockShare = 0.02;
constexpr double kMostClockSeconds = 1e-3;
constexpr double kMostIdleShare = 0.05;
constexpr double kLeastIdleSeconds = 0.2;  // the kernel counts in ticks of 10 ms

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

double untold_seconds(const TimedAnswer& timed) {
  const double untold = timed.parent_seconds - sum_of(timed.answer.seconds);
  return untold > 0 ? std::max(0.0, untold - timed.waited_seconds) : untold;
}

std::string clock_trouble(const SideTurns& side) {
  std::vector<double> theirs;
  std::vector<double> ours;
  for (const LockstepTurn& turn : side.turns) {
    theirs.push_back(sum_of(turn.timed.answer.seconds));
    ours.push_back(theirs.back() + untold_seconds(turn.timed));
  }
  if (theirs.empty()) return {};
  const double told = median(theirs);
  const double seen = median(ours);
  const double apart = std::abs(seen - told);
  if (apart <= kMostClockSeconds || apart <= kMostClockShare * seen) return {};
  return fmt::format("says that a turn takes {}, which takes {} by our clock",
                     format_quantity(told, "s"), format_quantity(seen, "s"));
}

std::string sleep_trouble(const SideTurns& side) {
  if (side.idle_cpu_seconds < kLeastIdleSeconds ||
      side.idle_cpu_seconds < kMostIdleShare * side.idle_seconds) {
    return {};
  }
  return fmt::format("took {} of processor time in the {} of the others' turns",
                     format_quantity(side.idle_cpu_seconds, "s"),
                     format_quantity(side.idle_seconds, "s"));
}

void Waiting::add(const SideTurns& side) {
  for (const LockstepTurn& turn : side.turns) {
    waited_seconds += turn.timed.waited_seconds;
    turn_seconds += turn.timed.parent_seconds;
  }
}

std::string Waiting::trouble() const {
  constexpr double kNoticed = 0.05;
  if (waited_seconds <= kNoticed * turn_seconds) return {};
  return fmt::format(
      "the sides waited for a processor in {:.0f} % of their turns' time: other processes work "
      "here, "
      "or a side has more threads than processors",
      100 * waited_seconds / turn_seconds);
}

std::string bad_end(const SideTurns& side) {
  constexpr int kInvalidResult = 3;
  if (side.exit_code == 0 || side.exit_code == kInvalidResult) return {};
  return fmt::format("ended with exit code {}", side.exit_code);
}

}  // namespace harness
