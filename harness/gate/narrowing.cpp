#include "harness/gate/narrowing.hpp"

#include <algorithm>
#include <cmath>

#include "harness/stats/stats.hpp"

namespace harness {
namespace {

Interval range_of(std::span<const double> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {std::sqrt(*low * *high), *low, *high, 1};
}

std::vector<ClusterMetric> first_of(const std::vector<ClusterMetric>& metrics, std::size_t count) {
  std::vector<ClusterMetric> part = metrics;
  for (ClusterMetric& metric : part) metric.improvements.resize(count);
  return part;
}

}  // namespace

std::vector<double> until_unusable(const std::vector<double>& improvements) {
  const auto end = std::find_if_not(improvements.begin(), improvements.end(),
                                    [](double value) { return std::isfinite(value) && value > 0; });
  return {improvements.begin(), end};
}

NarrowingStep narrowed(std::span<const double> improvements, bool exact) {
  if (exact) return {improvements.size(), range_of(improvements)};
  return {improvements.size(),
          paired_speedup(improvements, std::vector<double>(improvements.size(), 1))};
}

std::vector<NarrowingStep> narrowing(std::span<const double> improvements, bool exact,
                                     std::size_t most) {
  const std::size_t stride = std::max<std::size_t>(1, (improvements.size() + most - 1) / most);
  std::vector<NarrowingStep> steps;
  // The last one is that of all.
  for (std::size_t n = (improvements.size() + stride - 1) % stride + 1; n <= improvements.size();
       n += stride) {
    steps.push_back(narrowed(improvements.first(n), exact));
  }
  return steps;
}

std::vector<std::vector<RowLook>> looks_taken(const std::vector<ClusterMetric>& metrics,
                                              const GatePlan& plan, const GateOptions& options) {
  std::vector<std::vector<RowLook>> taken(metrics.size());
  const std::size_t there = metrics.front().improvements.size();
  for (const GateLook& look : looks_of(plan)) {
    if (look.clusters > there) break;
    const CampaignDecision decision = decide(first_of(metrics, look.clusters), plan, options);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const MetricDecision& found = decision.metrics[i];
      // What was clear before was not looked at again.
      if (found.clusters != look.clusters || !(found.improvement.center > 0)) continue;
      taken[i].push_back({found.clusters, found.improvement, found.verdict});
    }
  }
  return taken;
}

}  // namespace harness
