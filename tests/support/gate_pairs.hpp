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

/// Pairs in which the baseline took a second and the candidate `seconds[i]`.
inline PairedMetric against_one(const std::vector<double>& seconds, double margin = 0.015) {
  return {std::vector<double>(seconds.size(), 1.0), seconds, Direction::kLower, margin};
}

/// `count` pairs of the same ratio.
inline PairedMetric constant(std::size_t count, double seconds, double margin = 0.015) {
  return against_one(std::vector<double>(count, seconds), margin);
}

/// One stretch of equal pairs after the other.
struct Stretch {
  std::size_t pairs;
  double seconds;
};

inline PairedMetric stretches(const std::vector<Stretch>& parts) {
  std::vector<double> seconds;
  for (const Stretch& part : parts) seconds.insert(seconds.end(), part.pairs, part.seconds);
  return against_one(seconds);
}

/// Half of the pairs far below, half far above: nothing follows from them.
inline PairedMetric torn(std::size_t count) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < count; ++i) seconds.push_back(i % 2 == 0 ? 0.5 : 2.0);
  return against_one(seconds);
}

/// The first `count` pairs.
inline PairedMetric first(const PairedMetric& metric, std::size_t count) {
  PairedMetric part = metric;
  part.base.resize(count);
  part.candidate.resize(count);
  return part;
}

inline std::vector<PairedMetric> first(const std::vector<PairedMetric>& metrics,
                                       std::size_t count) {
  std::vector<PairedMetric> parts;
  for (const PairedMetric& metric : metrics) parts.push_back(first(metric, count));
  return parts;
}

/// The budget that these tests count with.
inline const GateOptions kFortyEight{0.95, 48};

inline CampaignDecision decided(const std::vector<PairedMetric>& metrics,
                                const GateOptions& options = kFortyEight) {
  return decide(metrics, options);
}

/// Runs the campaign as `harness gate` does: a pair at a time until it is finished or `metrics`
/// have no more.
inline CampaignDecision campaign(const std::vector<PairedMetric>& metrics,
                                 const GateOptions& options = kFortyEight) {
  CampaignDecision decision;
  for (std::size_t pairs = 0; pairs <= metrics.front().base.size(); ++pairs) {
    decision = decide(first(metrics, pairs), options);
    if (decision.finished) break;
  }
  return decision;
}

/// Draws from a distribution of log-ratios, with the median at ln(`slowdown`).
inline PairedMetric drawn(std::size_t count, double slowdown,
                          const std::function<double()>& noise) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < count; ++i) seconds.push_back(slowdown * std::exp(noise()));
  return against_one(seconds);
}

}  // namespace harness
