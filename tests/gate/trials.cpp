#include "tests/gate/trials.hpp"

#include <algorithm>
#include <random>
#include <span>

namespace harness {
namespace {

/// From 0 to `count` - 1. The library's own distributions differ from one to the next.
std::size_t below(std::size_t count, std::mt19937_64& random) {
  return static_cast<std::size_t>(random() % count);
}

/// Moving blocks (Künsch 1989) of random length.
template <typename Item>
std::vector<Item> resample(const std::vector<Item>& items, std::size_t count, std::size_t shortest,
                           std::size_t longest, std::mt19937_64& random) {
  std::vector<Item> values;
  while (values.size() < count) {
    const std::size_t length =
        std::min(shortest + below(longest - shortest + 1, random), items.size());
    const std::size_t start = below(items.size() - length + 1, random);
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(start);
    values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(length));
  }
  values.resize(count);
  return values;
}

std::vector<ClusterRounds> pairs_of(const std::vector<double>& seconds) {
  std::vector<ClusterRounds> pairs;
  for (std::size_t pair = 0; pair < seconds.size() / 2; ++pair) {
    const std::size_t baseline = pair % 2 == 0 ? 0 : 1;
    pairs.push_back({{seconds[2 * pair + baseline]}, {seconds[2 * pair + 1 - baseline]}});
  }
  return pairs;
}

/// Two of the sides that were recorded, the same two in the whole campaign.
std::vector<ClusterRounds> two_sides(const std::vector<NoiseCluster>& clusters,
                                     std::mt19937_64& random) {
  const std::size_t sides = clusters.front().starts.size();
  const std::size_t baseline = below(sides, random);
  const std::size_t candidate = (baseline + 1 + below(sides - 1, random)) % sides;
  std::vector<ClusterRounds> campaign;
  for (const NoiseCluster& cluster : clusters) {
    ClusterRounds& both = campaign.emplace_back();
    for (const std::vector<double>& round : cluster.rounds) {
      both.baseline.push_back(round[baseline]);
      both.candidate.push_back(round[candidate]);
    }
  }
  return campaign;
}

Verdict of_all(const CampaignDecision& decision) {
  const auto any = [&](Verdict verdict) {
    return std::any_of(decision.metrics.begin(), decision.metrics.end(),
                       [&](const MetricDecision& metric) { return metric.verdict == verdict; });
  };
  for (const Verdict verdict : {Verdict::kRegressed, Verdict::kInconclusive, Verdict::kFaster}) {
    if (any(verdict)) return verdict;
  }
  return Verdict::kSame;
}

}  // namespace

const std::vector<TriedCandidate>& tried_candidates() {
  static const std::vector<TriedCandidate> candidates = {
      {"takes as long", {}},
      {"takes 1.02 times as long", {1.02}},
      {"takes 1.03 times as long", {1.03}},
      {"takes 1.05 times as long", {1.05}},
      {"takes 1 / 1.05 times as long", {1 / 1.05}},
      {"takes 1.10 times as long in a third of its starts", {1, 1.0 / 3, 1.10}},
  };
  return candidates;
}

std::vector<ClusterRounds> draw_campaign(const NoiseRecording& recording, const Planted& planted,
                                         std::size_t clusters, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<ClusterRounds> campaign =
      recording.resident() ? two_sides(resample(recording.clusters, clusters, 2, 8, random), random)
                           : pairs_of(resample(recording.seconds, 2 * clusters, 8, 64, random));
  constexpr std::size_t kDice = 1'000'000;
  for (ClusterRounds& cluster : campaign) {
    const auto thrown = static_cast<double>(below(kDice, random));
    const bool slow = thrown < planted.slow_share * static_cast<double>(kDice);
    const double factor = planted.slowdown * (slow ? planted.slow_by : 1);
    for (double& seconds : cluster.candidate) seconds *= factor;
  }
  return campaign;
}

std::vector<ClusterMetric> metrics_of(const std::vector<ClusterRounds>& campaign) {
  ClusterMetric medians;
  ClusterMetric totals;
  for (const ClusterRounds& cluster : campaign) {
    medians.improvements.push_back(step_improvement(cluster));
    totals.improvements.push_back(total_improvement(cluster));
  }
  if (campaign.front().baseline.size() == 1) return {medians};
  return {medians, totals};
}

TrialCounts try_campaigns(const NoiseRecording& recording, const Planted& planted,
                          std::size_t campaigns, const GateOptions& options, std::uint64_t seed) {
  TrialCounts counts;
  counts.campaigns = campaigns;
  GatePlan plan;
  plan.nights = {Night{options.most_clusters, std::nullopt}};
  plan.block = recording.resident() ? 1 : 2;
  std::mt19937_64 seeds(seed);
  for (std::size_t i = 0; i < campaigns; ++i) {
    const std::vector<ClusterMetric> metrics =
        metrics_of(draw_campaign(recording, planted, options.most_clusters, seeds()));
    const CampaignDecision decision = decide(metrics, plan, options);
    counts.clusters += static_cast<double>(decision.clusters) / static_cast<double>(campaigns);
    switch (of_all(decision)) {
      case Verdict::kSame:
        ++counts.same;
        break;
      case Verdict::kFaster:
        ++counts.faster;
        break;
      case Verdict::kRegressed:
        ++counts.regressed;
        break;
      case Verdict::kInconclusive:
        ++counts.inconclusive;
        break;
    }
  }
  return counts;
}

}  // namespace harness
