#include "harness/lockstep/settling.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

#include "harness/lockstep/protocol.hpp"
#include "harness/stats/stats.hpp"

namespace harness {

std::int64_t steps_of_turn(double longest_step_seconds) {
  constexpr double kTurnSeconds = 0.06;
  constexpr double kMost = 8;
  return std::llround(std::clamp(std::ceil(kTurnSeconds / longest_step_seconds), 1.0, kMost));
}

std::int64_t settling_lap(double shortest_step_seconds, double longest_step_seconds) {
  constexpr double kLong = 0.1;
  constexpr double kTooLong = 0.5;
  if (shortest_step_seconds >= kLong || longest_step_seconds >= kTooLong) return 0;
  return longest_step_seconds < kLong ? 16 : 8;
}

std::int64_t steps_to_settle(const std::vector<std::vector<double>>& laps) {
  constexpr double kSettled = 1.03;
  const std::size_t half = laps.front().size() / 2;
  std::vector<double> late;
  for (const auto& lap : laps) {
    late.insert(late.end(), lap.begin() + static_cast<std::ptrdiff_t>(half), lap.end());
  }
  const double settled = median(late);
  std::size_t steps = 0;
  for (; steps < half; ++steps) {
    std::vector<double> there;
    for (const auto& lap : laps) there.push_back(lap[steps]);
    if (median(there) <= kSettled * settled) break;
  }
  return static_cast<std::int64_t>(steps);
}

std::int64_t settling_steps(std::int64_t needed, std::int64_t steps_per_turn, std::int64_t cluster,
                            std::int64_t round) {
  if (needed == 0) return 0;
  std::seed_seq seed{cluster, round};
  // Each cluster's first turn comes behind equally many steps, so it must be drawn from more.
  const std::int64_t turns = round == 1 ? 4 : 1;
  const auto drawn = static_cast<std::int64_t>(std::mt19937(seed)());
  return std::min(needed + drawn % (turns * (needed + steps_per_turn)), kMostStepsOfOrder);
}

}  // namespace harness
