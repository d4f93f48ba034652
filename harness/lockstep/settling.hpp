// What a turn has where steps are short. Behind another side's turn, which had the caches and the
// processors, a side needs some steps until it is as fast as it gets; and each turn costs a rest.
#pragma once

#include <cstdint>
#include <vector>

namespace harness {

/// Timed steps of a turn where the longest step of all sides takes so long: 60 ms are filled by up
/// to 8 steps, since a turn costs the rest behind it and what settles before.
std::int64_t steps_of_turn(double longest_step_seconds);

/// So many laps the measurement has: in each, all sides step in turn.
inline constexpr std::int64_t kSettlingLaps = 5;

/// Steps of a lap, the same for all sides, whose steps take so long. 0 where it is not worth
/// measuring: what a turn of the others costs is a millisecond or less, which is nothing in a step
/// of 0.1 s; and where the longest takes half a second the shortest waits for it too long.
std::int64_t settling_lap(double shortest_step_seconds, double longest_step_seconds);

/// `laps[i][k]`: seconds of the k-th step behind another side's turn in lap i; each lap has the
/// same number of steps, two at least, of which the second half counts as settled. The number of
/// leading steps that are slower than settled ones by more than 3 % in the median over the laps;
/// half of a lap at most.
std::int64_t steps_to_settle(const std::vector<std::vector<double>>& laps);

/// Untimed steps before the turns of a round: `needed` of them, and a number drawn from none to as
/// many as a turn has with them, in the first round to four times as many. A side that is slow in
/// every fifth step, say, must not have these always among the untimed ones, nor always among the
/// timed. 0 where none are needed.
std::int64_t settling_steps(std::int64_t needed, std::int64_t steps_per_turn, std::int64_t cluster,
                            std::int64_t round);

}  // namespace harness
