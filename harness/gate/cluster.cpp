#include "harness/gate/cluster.hpp"

#include <numeric>

#include "harness/stats/stats.hpp"

namespace harness {

double step_improvement(const ClusterRounds& rounds) {
  return paired_ratio(rounds.baseline, rounds.candidate);
}

double total_improvement(const ClusterRounds& rounds) {
  const auto total = [](const std::vector<double>& seconds) {
    return std::accumulate(seconds.begin(), seconds.end(), 0.0);
  };
  return total(rounds.baseline) / total(rounds.candidate);
}

}  // namespace harness
