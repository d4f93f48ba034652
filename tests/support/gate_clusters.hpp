// Made-up campaigns for the tests of the gate's decision.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "harness/gate/decision.hpp"

namespace Catch {
template <>
struct StringMaker<harness::Verdict> {
  static std::string convert(harness::Verdict verdict) {
    switch (verdict) {
      case harness::Verdict::kSame:
        return "same";
      case harness::Verdict::kFaster:
        return "faster";
      case harness::Verdict::kRegressed:
        return "regressed";
      case harness::Verdict::kInconclusive:
        return "inconclusive";
    }
    return "?";
  }
};
}  // namespace Catch

namespace harness {

/// `count` clusters of the same improvement.
inline ClusterMetric constant(std::size_t count, double improvement, double margin = 0.015) {
  return {std::vector<double>(count, improvement), margin};
}

/// One stretch of equal clusters after the other.
struct Stretch {
  std::size_t clusters;
  double improvement;
};

inline ClusterMetric stretches(const std::vector<Stretch>& parts, double margin = 0.015) {
  ClusterMetric metric{{}, margin};
  for (const Stretch& part : parts) {
    metric.improvements.insert(metric.improvements.end(), part.clusters, part.improvement);
  }
  return metric;
}

/// Half of the clusters far below, half far above: nothing follows from them.
inline ClusterMetric torn(std::size_t count) {
  ClusterMetric metric;
  for (std::size_t i = 0; i < count; ++i) metric.improvements.push_back(i % 2 == 0 ? 0.5 : 2.0);
  return metric;
}

/// The first `count` clusters.
inline ClusterMetric first(const ClusterMetric& metric, std::size_t count) {
  ClusterMetric part = metric;
  part.improvements.resize(count);
  return part;
}

inline std::vector<ClusterMetric> first(const std::vector<ClusterMetric>& metrics,
                                        std::size_t count) {
  std::vector<ClusterMetric> parts;
  for (const ClusterMetric& metric : metrics) parts.push_back(first(metric, count));
  return parts;
}

/// One night of so many clusters, looked at in blocks of `block`.
inline GatePlan nights(const std::vector<std::size_t>& clusters, std::size_t block = 2,
                       bool pooled = false) {
  GatePlan plan{{}, block, pooled};
  for (const std::size_t count : clusters) plan.nights.push_back(Night{count, std::nullopt});
  return plan;
}

/// The plan that these tests count with: looks at 12, 24, 36 and 48.
inline const GatePlan kFortyEight = nights({48});

inline CampaignDecision decided(const std::vector<ClusterMetric>& metrics,
                                const GatePlan& plan = kFortyEight,
                                const GateOptions& options = {}) {
  return decide(metrics, plan, options);
}

/// Runs the campaign as `harness gate` does: a cluster at a time until it is finished or `metrics`
/// have no more.
inline CampaignDecision campaign(const std::vector<ClusterMetric>& metrics,
                                 const GatePlan& plan = kFortyEight,
                                 const GateOptions& options = {}) {
  CampaignDecision decision;
  for (std::size_t count = 0; count <= metrics.front().improvements.size(); ++count) {
    decision = decide(first(metrics, count), plan, options);
    if (decision.finished) break;
  }
  return decision;
}

/// Draws from a distribution of log-ratios, with the median at ln(`improvement`).
inline ClusterMetric drawn(std::size_t count, double improvement,
                           const std::function<double()>& noise) {
  ClusterMetric metric;
  for (std::size_t i = 0; i < count; ++i) {
    metric.improvements.push_back(improvement * std::exp(noise()));
  }
  return metric;
}

/// One way in which a cluster may come out.
struct ClusterOutcome {
  double improvement;
  double probability;
};

/// The exact probability that a campaign of independent clusters ends with a metric of which `is`
/// holds: all sequences of the outcomes, one after the other. A power of the outcomes' number.
inline double probability_of(const std::vector<ClusterOutcome>& outcomes, const GatePlan& plan,
                             const GateOptions& options,
                             const std::function<bool(const MetricDecision&)>& is) {
  std::size_t count = 0;
  for (const Night& night : plan.nights) count += night.clusters;
  std::vector<std::size_t> choice(count, 0);
  double sum = 0;
  while (true) {
    ClusterMetric metric;
    double probability = 1;
    for (const std::size_t at : choice) {
      metric.improvements.push_back(outcomes[at].improvement);
      probability *= outcomes[at].probability;
    }
    if (is(decide(std::vector{metric}, plan, options).metrics[0])) sum += probability;
    std::size_t at = 0;
    while (at < count && ++choice[at] == outcomes.size()) choice[at++] = 0;
    if (at == count) return sum;
  }
}

}  // namespace harness
