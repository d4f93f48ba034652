#include "harness/gate/judge_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/narrowing.hpp"
#include "harness/stats/excess.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

/// What is told of pairs beyond the interval for alarms.
void add_pairs_details(const ClusterMetric& metric, const MetricDecision& decision, GateRow& row) {
  if (!row.improvement) return;
  if (metric.exact) {
    if (decision.verdict == Verdict::kInconclusive) row.note = "differs from run to run";
    return;
  }
  row.same = decision.same;
  row.slow = SlowStarts{decision.slow, decision.fast, std::nullopt};
  if (decision.slow_error > 0) {
    row.slow->excess_high =
        excess_bound({decision.clusters, decision.slow, decision.fast}, decision.slow_error);
  }
  if (decision.slow_starts) {
    row.note =
        fmt::format("slow in some starts: {} of {} are worse by more than {:.2g} %", decision.slow,
                    decision.clusters, 100 * (std::pow(1 + metric.margin, kSlowMargins) - 1));
  }
}

/// How many pairs, from the first on, are whole in all columns.
std::int64_t whole_pairs(const std::vector<GateColumn>& columns, GateReport& report) {
  std::set<std::int64_t> all;
  for (const GateColumn& column : columns) {
    for (const auto& [pair, value] : column.baseline) all.insert(pair);
    for (const auto& [pair, value] : column.candidate) all.insert(pair);
  }
  const auto whole = [&](std::int64_t pair) {
    return std::all_of(columns.begin(), columns.end(), [&](const GateColumn& column) {
      return column.baseline.contains(pair) && column.candidate.contains(pair);
    });
  };
  std::int64_t pairs = 0;
  while (whole(pairs + 1)) ++pairs;
  for (const std::int64_t pair : all) {
    if (pair > pairs + 1 && whole(pair)) {
      throw Error(fmt::format("pair {}", pairs + 1), "is incomplete, but later pairs are complete",
                  "a run of the campaign is missing: give all its files");
    }
  }
  if (!all.empty() && *all.rbegin() > pairs) {
    report.notes.push_back(fmt::format("pair {} is incomplete and left out", pairs + 1));
  }
  return pairs;
}

/// The candidate's improvement in each of the first `pairs`.
ClusterMetric improvements_of(const GateColumn& column, std::int64_t pairs) {
  ClusterMetric metric{{}, column.metric.margin, column.metric.exact, column.metric.alarm_only};
  for (std::int64_t pair = 1; pair <= pairs; ++pair) {
    if (const auto known = column.improvements.find(pair); known != column.improvements.end()) {
      metric.improvements.push_back(known->second);
      continue;
    }
    const double base = column.baseline.at(pair);
    const double candidate = column.candidate.at(pair);
    const bool lower = column.direction != Direction::kHigher;
    metric.improvements.push_back(lower ? base / candidate : candidate / base);
  }
  return metric;
}

std::size_t tested_count(const std::vector<ClusterMetric>& metrics) {
  return static_cast<std::size_t>(std::count_if(
      metrics.begin(), metrics.end(), [](const ClusterMetric& metric) { return !metric.exact; }));
}

/// Why the pairs do not tell, and what would.
std::string open_note(const CampaignDecision& decision, std::size_t pairs, std::size_t fewest,
                      const std::string& unit) {
  if (!decision.finished) {
    return fmt::format("ended after {} of the {} {}s that the next look needs", pairs,
                       decision.clusters, unit);
  }
  if (pairs < fewest)
    return fmt::format("{} {}s, and no fewer than {} can tell", pairs, unit, fewest);
  return fmt::format(
      "too noisy for {} {}s and this margin: a longer --budget, a --pause or a quieter machine",
      decision.clusters, unit);
}

/// How often the campaign was looked at.
std::int64_t looks_until(const GatePlan& plan, const CampaignDecision& decision,
                         std::int64_t pairs) {
  const std::size_t last = decision.finished ? decision.clusters : static_cast<std::size_t>(pairs);
  const std::vector<GateLook> looks = looks_of(plan);
  return std::count_if(looks.begin(), looks.end(),
                       [&](const GateLook& look) { return look.clusters <= last; });
}

}  // namespace

GateRow row_of(const GateColumn& column, std::span<const double> base,
               std::span<const double> candidate, const MetricDecision& decision) {
  GateRow row;
  row.tag = column.metric.tag;
  row.unit = column.unit;
  row.group = column.metric.group;
  row.direction = column.direction;
  row.margin = column.metric.margin;
  row.n = decision.clusters;
  row.verdict = decision.verdict;
  if (decision.improvement.center > 0) row.improvement = decision.improvement;
  const auto center = [](std::span<const double> side) {
    return side.empty() ? std::nullopt : std::optional(median(side));
  };
  row.baseline = center(base);
  row.candidate = center(candidate);
  return row;
}

CampaignDecision judge_pairs(const std::vector<GateColumn>& columns,
                             const std::optional<GatePlan>& planned, const GateOptions& options,
                             GateReport& report, bool lockstep) {
  const std::string unit = lockstep ? "cluster" : "pair";
  const std::int64_t pairs = whole_pairs(columns, report);
  std::vector<ClusterMetric> metrics;
  for (const GateColumn& column : columns) metrics.push_back(improvements_of(column, pairs));
  const GatePlan plan =
      planned.value_or(GatePlan{{Night{static_cast<std::size_t>(pairs), std::nullopt}}});
  CampaignDecision decision = decide(metrics, plan, options);
  if (!planned) {
    report.notes.push_back(
        fmt::format("how many {}s were planned is not known: taken for {}", unit, pairs));
  }
  const std::size_t fewest = fewest_clusters(tested_count(metrics), plan, options);
  std::vector<std::vector<RowLook>> looks = looks_taken(metrics, plan, options);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const MetricDecision& found = decision.metrics[i];
    const auto used = [&](const std::map<std::int64_t, double>& side) {
      std::vector<double> values = in_order(side);
      values.resize(std::min(values.size(), found.clusters));
      return values;
    };
    GateRow row = row_of(columns[i], used(columns[i].baseline), used(columns[i].candidate), found);
    add_pairs_details(metrics[i], found, row);
    row.alarm_only = columns[i].metric.alarm_only;
    row.exact = columns[i].metric.exact;
    row.improvements = until_unusable(metrics[i].improvements);
    row.looks = std::move(looks[i]);
    if (row.verdict == Verdict::kInconclusive && row.note.empty() && !row.alarm_only) {
      row.note = open_note(decision, static_cast<std::size_t>(pairs), fewest, unit);
    }
    report.rows.push_back(std::move(row));
  }
  report.unit = unit;
  for (const GateLook& look : looks_of(plan)) report.looks.push_back(look.clusters);
  report.alarm_error = options.alarm;
  report.same_error = options.same;
  report.method = fmt::format(
      "{} of {}, looked at {} as planned; sign tests of the ratios of the {}s. "
      "At most {:g} % that any of {} is called regressed or faster and is not, over all looks; at "
      "most {:g} % that one changed by its margin, or slow in a fifth of its starts, is called the "
      "same",
      format_count(decision.finished ? static_cast<std::int64_t>(decision.clusters) : pairs, unit),
      lockstep ? "rounds in lockstep" : "runs in turn (ABBA)",
      format_count(looks_until(plan, decision, pairs), "time"), unit, options.alarm * 100,
      format_count(std::ssize(columns), "metric"), options.same * 100);
  return decision;
}

}  // namespace harness
