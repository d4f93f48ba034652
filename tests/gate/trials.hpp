// The gate's decision tried on thousands of campaigns that are made of recorded noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/gate/cluster.hpp"
#include "harness/gate/decision.hpp"
#include "tests/gate/noise.hpp"

namespace harness {

/// What is done to the candidate's times.
struct Planted {
  double slowdown = 1;    ///< of every start
  double slow_share = 0;  ///< of the starts that are slower still
  double slow_by = 1.10;
};

/// All that the trials try, with the words of the table.
struct TriedCandidate {
  std::string text{};
  Planted planted{};
};
const std::vector<TriedCandidate>& tried_candidates();

/// `clusters` clusters of one campaign. Of runs one after the other each cluster is a pair, every
/// other one with the candidate first. Clusters and runs come in stretches of the recording, each
/// in its order, so that drift, bursts and jumps of the machine are in them. The same seed gives
/// the same noise, whatever is planted.
std::vector<ClusterRounds> draw_campaign(const NoiseRecording& recording, const Planted& planted,
                                         std::size_t clusters, std::uint64_t seed);

/// The metrics that are judged: the median and the total of each cluster, or the one time of runs.
std::vector<ClusterMetric> metrics_of(const std::vector<ClusterRounds>& campaign);

struct TrialCounts {
  std::size_t campaigns = 0;
  std::size_t same = 0;
  std::size_t faster = 0;
  std::size_t regressed = 0;
  std::size_t inconclusive = 0;
  double clusters = 0;  ///< mean of a campaign

  double share(std::size_t count) const {
    return static_cast<double>(count) / static_cast<double>(campaigns);
  }
};

/// `campaigns` campaigns by the decision, as many clusters each as `options` allow.
TrialCounts try_campaigns(const NoiseRecording& recording, const Planted& planted,
                          std::size_t campaigns, const GateOptions& options, std::uint64_t seed);

}  // namespace harness
