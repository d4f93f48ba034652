// From the rounds of one cluster to one number for each metric of time.
#pragma once

#include <vector>

namespace harness {

/// Seconds of both sides, round by round; equally many of each, all finite and above 0.
struct ClusterRounds {
  std::vector<double> baseline{};
  std::vector<double> candidate{};
};

/// How many times faster the candidate's step was: the middle of the rounds' ratios
/// (paired_ratio()), so that what slowed both sides of a round cancels. Precondition: at least one
/// round.
double step_improvement(const ClusterRounds& rounds);

/// How many times less all of the candidate's rounds took together: what a median does not see,
/// such as every fifth step taking twice as long. Precondition: at least one round.
double total_improvement(const ClusterRounds& rounds);

}  // namespace harness
