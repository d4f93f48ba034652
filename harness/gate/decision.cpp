#include "harness/gate/decision.hpp"

#include <algorithm>
#include <cmath>

#include "harness/compare/occasions.hpp"
#include "harness/stats/excess.hpp"
#include "harness/stats/sign_looks.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

constexpr double kTestsOfAMetric = 3;  // slower, faster, slow in some starts

bool usable(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value) && value > 0; });
}

std::vector<double> errors_of(std::span<const GateLook> looks, double error) {
  std::vector<double> errors;
  for (const GateLook& look : looks) errors.push_back(look.share * error);
  return errors;
}

std::vector<std::size_t> sizes_of(std::span<const GateLook> looks) {
  std::vector<std::size_t> sizes;
  for (const GateLook& look : looks) sizes.push_back(look.clusters);
  return sizes;
}

/// The error of each look's bound on slow starts: Bonferroni over the looks. One that is too early
/// for any bound leaves its share to the next and has 0.
std::vector<double> slow_errors(std::span<const GateLook> looks, double error) {
  std::vector<double> errors;
  double left = 0;
  double share = 0;
  for (const GateLook& look : looks) {
    left += (look.share - share) * error;
    share = look.share;
    const bool possible = left > 0 && excess_below({look.clusters, 0, 0}, kSlowShare, left);
    errors.push_back(possible ? left : 0);
    if (possible) left = 0;
  }
  return errors;
}

/// What is the same for all metrics.
struct Tests {
  std::vector<GateLook> looks{};  ///< those reached
  std::vector<double> alarms{};   ///< error of one test up to each look
  std::vector<SignLook> alarm{};
  std::vector<SignLook> same{};
  std::vector<double> slow{};
};

Tests tests_of(std::vector<GateLook> looks, std::size_t metrics, const GateOptions& options) {
  Tests tests;
  const double tests_in_all =
      kTestsOfAMetric * static_cast<double>(std::max<std::size_t>(metrics, 1));
  tests.alarms = errors_of(looks, options.alarm / tests_in_all);
  tests.alarm = sign_looks(sizes_of(looks), tests.alarms);
  tests.same = sign_looks(sizes_of(looks), errors_of(looks, options.same));
  tests.slow = slow_errors(looks, options.same);
  tests.looks = std::move(looks);
  return tests;
}

/// The medians that the sign test does not refuse: so many values at either end lie outside.
Interval median_bounds(const std::vector<double>& sorted, const SignLook& look) {
  Interval interval;
  const std::size_t n = sorted.size();
  interval.center = std::exp((std::log(sorted[(n - 1) / 2]) + std::log(sorted[n / 2])) / 2);
  if (look.agreeing > n) return interval;
  interval.low = sorted[n - look.agreeing];
  interval.high = sorted[look.agreeing - 1];
  interval.confidence = 1 - 2 * look.spent;
  return interval;
}

std::size_t worse_than(std::span<const double> improvements, double margins, double margin) {
  const double bound = std::pow(1 + margin, -margins);
  return static_cast<std::size_t>(std::count_if(improvements.begin(), improvements.end(),
                                                [&](double value) { return value < bound; }));
}

std::size_t better_than(std::span<const double> improvements, double margins, double margin) {
  const double bound = std::pow(1 + margin, margins);
  return static_cast<std::size_t>(std::count_if(improvements.begin(), improvements.end(),
                                                [&](double value) { return value > bound; }));
}

MetricDecision exact_look(std::span<const double> improvements, double margin) {
  const auto [low, high] = std::minmax_element(improvements.begin(), improvements.end());
  MetricDecision decision;
  decision.improvement = {std::exp((std::log(*low) + std::log(*high)) / 2), *low, *high, 1};
  decision.same = decision.improvement;
  decision.verdict = judge(decision.improvement, margin);
  return decision;
}

/// Whether more clusters are slower than four margins than are faster than two, at each look: a
/// median within the margin shifts either count by one margin at most.
std::vector<bool> slow_alarms(const ClusterMetric& metric, const Tests& tests) {
  std::vector<std::size_t> slow;
  std::vector<std::size_t> signs;
  for (const GateLook& look : tests.looks) {
    const auto values = std::span(metric.improvements).first(look.clusters);
    slow.push_back(worse_than(values, kSlowMargins, metric.margin));
    signs.push_back(slow.back() + better_than(values, kSlowMargins - 2, metric.margin));
  }
  const std::vector<SignLook> needed = sign_looks(signs, tests.alarms);
  std::vector<bool> alarms;
  for (std::size_t i = 0; i < needed.size(); ++i) alarms.push_back(slow[i] >= needed[i].agreeing);
  return alarms;
}

MetricDecision tested_look(std::span<const double> improvements, double margin, const Tests& tests,
                           std::size_t at, bool slow_alarm) {
  MetricDecision decision;
  std::vector<double> sorted(improvements.begin(), improvements.end());
  std::sort(sorted.begin(), sorted.end());
  decision.improvement = median_bounds(sorted, tests.alarm[at]);
  decision.same = median_bounds(sorted, tests.same[at]);
  decision.slow = worse_than(improvements, kSlowMargins, margin);
  decision.fast = better_than(improvements, kSlowMargins, margin);
  decision.slow_error = tests.slow[at];
  const OutcomeCounts counts = {sorted.size(), decision.slow, decision.fast};
  const Verdict median_verdict = judge(decision.improvement, margin);
  if (median_verdict == Verdict::kRegressed || slow_alarm) {
    decision.verdict = Verdict::kRegressed;
    decision.slow_starts = median_verdict != Verdict::kRegressed;
  } else if (median_verdict == Verdict::kFaster) {
    decision.verdict = Verdict::kFaster;
  } else if (judge(decision.same, margin) == Verdict::kSame && decision.slow_error > 0 &&
             excess_below(counts, kSlowShare, decision.slow_error)) {
    decision.verdict = Verdict::kSame;
  }
  return decision;
}

/// The decision of each look by itself.
std::vector<MetricDecision> decide_looks(const ClusterMetric& metric, const Tests& tests) {
  const std::vector<bool> alarms = metric.exact ? std::vector<bool>{} : slow_alarms(metric, tests);
  std::vector<MetricDecision> decisions;
  for (std::size_t i = 0; i < tests.looks.size(); ++i) {
    const auto values = std::span(metric.improvements).first(tests.looks[i].clusters);
    MetricDecision decision;
    if (usable(values)) {
      decision = metric.exact ? exact_look(values, metric.margin)
                              : tested_look(values, metric.margin, tests, i, alarms[i]);
    }
    decision.clusters = values.size();
    decisions.push_back(decision);
  }
  return decisions;
}

bool is_clear(const MetricDecision& decision) { return decision.verdict != Verdict::kInconclusive; }

}  // namespace

Verdict judge(const Interval& improvement, double margin) {
  if (!improvement.low || !improvement.high) return Verdict::kInconclusive;
  const double better = 1 + margin;
  const double worse = 1 / better;
  if (*improvement.high < worse) return Verdict::kRegressed;
  if (*improvement.low > better) return Verdict::kFaster;
  return *improvement.low >= worse && *improvement.high <= better ? Verdict::kSame
                                                                  : Verdict::kInconclusive;
}

CampaignDecision decide(std::span<const ClusterMetric> metrics, const GatePlan& plan,
                        const GateOptions& options) {
  const std::size_t there = metrics.front().improvements.size();
  std::vector<GateLook> looks = looks_of(plan);
  const auto next = std::find_if(looks.begin(), looks.end(),
                                 [&](const GateLook& look) { return look.clusters > there; });
  CampaignDecision decision;
  decision.metrics.resize(metrics.size());
  decision.finished = next == looks.end();
  decision.clusters = decision.finished ? 0 : next->clusters;
  looks.erase(next, looks.end());
  const auto tested = std::count_if(metrics.begin(), metrics.end(),
                                    [](const ClusterMetric& metric) { return !metric.exact; });
  const Tests tests = tests_of(std::move(looks), static_cast<std::size_t>(tested), options);
  std::vector<std::vector<MetricDecision>> found;
  for (const ClusterMetric& metric : metrics) found.push_back(decide_looks(metric, tests));
  for (std::size_t i = 0; i < tests.looks.size(); ++i) {
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      const MetricDecision& now = found[m][i];
      MetricDecision& kept = decision.metrics[m];
      const bool worse = now.verdict == Verdict::kRegressed && kept.verdict != Verdict::kRegressed;
      const bool spoilt = now.improvement.center == 0;
      if (!is_clear(kept) || worse || spoilt) kept = now;
    }
    bool clear = true;
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      clear = clear && (metrics[m].alarm_only || is_clear(decision.metrics[m]));
    }
    if (decision.finished || clear) decision.clusters = tests.looks[i].clusters;
    if (!clear) continue;
    decision.finished = true;
    break;
  }
  return decision;
}

std::size_t fewest_clusters(std::size_t metrics, const GatePlan& plan, const GateOptions& options) {
  for (std::size_t clusters = plan.block;; clusters += plan.block) {
    const GatePlan of_so_many = {{Night{clusters, {}}}, plan.block, plan.pooled};
    const Tests tests = tests_of(looks_of(of_so_many), metrics, options);
    if (tests.alarm.back().agreeing <= clusters && tests.same.back().agreeing <= clusters &&
        tests.slow.back() > 0) {
      return clusters;
    }
  }
}

MetricDecision decide_unpaired(const UnpairedMetric& series, std::size_t metrics,
                               const GateOptions& options) {
  MetricDecision decision;
  decision.clusters = std::min(series.base.size(), series.candidate.size());
  if (decision.clusters == 0 || !usable(series.base) || !usable(series.candidate)) return decision;
  std::vector<double> base;
  std::vector<double> candidate;
  for (const double value : series.base) base.push_back(std::log(value));
  for (const double value : series.candidate) candidate.push_back(std::log(value));
  const double confidence = 1 - options.alarm / static_cast<double>(metrics);
  const bool lower = series.direction != Direction::kHigher;
  decision.improvement = lower ? unpaired_shift(candidate, base, confidence)
                               : unpaired_shift(base, candidate, confidence);
  decision.improvement.center = std::exp(decision.improvement.center);
  for (auto* bound : {&decision.improvement.low, &decision.improvement.high}) {
    if (*bound) *bound = std::exp(**bound);
  }
  if (decision.clusters >= kFewestHours) {
    decision.verdict = judge(decision.improvement, series.margin);
  }
  return decision;
}

}  // namespace harness
