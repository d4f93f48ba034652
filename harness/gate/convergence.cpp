#include "harness/gate/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/base/same_bits.hpp"
#include "harness/base/text.hpp"
#include "harness/stats/fisher.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

constexpr double kShareOfMisses = 0.5;
constexpr double kShareOfOthers = 0.25;

bool same_course(const TrainedRun& a, const TrainedRun& b) {
  // Two runs that tell nothing show nothing.
  if (a.course.empty() || a.course.size() != b.course.size()) return false;
  for (std::size_t i = 0; i < a.course.size(); ++i) {
    const std::vector<double>& before = a.course[i];
    const std::vector<double>& now = b.course[i];
    if (before.empty() || before.size() != now.size()) return false;
    if (!std::equal(before.begin(), before.end(), now.begin(), same_bits)) return false;
  }
  return a.epochs == b.epochs && a.reached == b.reached;
}

/// How many a miss would have taken, nobody knows, but it is more than any run had.
std::vector<double> epochs_of(const std::vector<TrainedRun>& runs, std::int64_t most) {
  std::vector<double> epochs;
  for (const TrainedRun& run : runs) {
    epochs.push_back(static_cast<double>(run.reached ? run.epochs : most + 1));
  }
  return epochs;
}

std::size_t misses_of(const std::vector<TrainedRun>& runs) {
  return static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(), [](const TrainedRun& run) { return !run.reached; }));
}

GateRow quality_row(const char* tag, const char* unit, std::size_t n) {
  GateRow row;
  row.tag = tag;
  row.unit = unit;
  row.group = GateGroup::kQuality;
  row.direction = Direction::kLower;
  row.n = n;
  return row;
}

GateRow epochs_row(const std::vector<TrainedRun>& baseline,
                   const std::vector<TrainedRun>& candidate, bool enough,
                   const ConvergenceRules& rules, const GateOptions& options) {
  std::int64_t most = 0;
  for (const auto* side : {&baseline, &candidate}) {
    for (const TrainedRun& run : *side) most = std::max(most, run.max_epochs);
  }
  UnpairedMetric metric{epochs_of(baseline, most), epochs_of(candidate, most), Direction::kLower,
                        rules.epochs_margin};
  GateRow row = quality_row("epochs.to-quality", "1", baseline.size());
  row.margin = rules.epochs_margin;
  row.baseline = median(metric.base);
  row.candidate = median(metric.candidate);
  GateOptions own = options;
  own.alarm = kShareOfOthers * options.alarm;
  const MetricDecision alarm = decide_unpaired(metric, 1, own);
  row.improvement = alarm.improvement;
  // "Same" is two bounds of its error each.
  own.alarm = 2 * options.same;
  const MetricDecision same = decide_unpaired(metric, 1, own);
  row.same = same.improvement;
  if (!enough) return row;
  const bool is_same = judge(same.improvement, rules.epochs_margin) == Verdict::kSame;
  const bool is_clear = alarm.verdict == Verdict::kRegressed || alarm.verdict == Verdict::kFaster;
  if (is_clear) {
    row.verdict = alarm.verdict;
  } else if (is_same) {
    row.verdict = Verdict::kSame;
  } else {
    row.note = "too few seeds for this margin: a longer --convergence-budget";
  }
  return row;
}

GateRow misses_row(const std::vector<TrainedRun>& baseline,
                   const std::vector<TrainedRun>& candidate, bool enough,
                   const GateOptions& options) {
  const EventCount before{misses_of(baseline), baseline.size()};
  const EventCount now{misses_of(candidate), candidate.size()};
  GateRow row = quality_row("misses", "1", now.trials);
  row.alarm_only = true;
  row.baseline = static_cast<double>(before.events);
  row.candidate = static_cast<double>(now.events);
  const double chance = excess_by_chance(before, now);
  row.note = fmt::format("{} of {} missed the target, the baseline {} of {}", now.events,
                         now.trials, before.events, before.trials);
  if (now.events == 0) row.verdict = Verdict::kSame;
  if (enough && chance <= kShareOfMisses * options.alarm) {
    row.verdict = Verdict::kRegressed;
    row.note += fmt::format("; by chance once in {:.0f}", 1 / chance);
  }
  return row;
}

/// Over the seeds where both got there.
GateRow seconds_row(const std::vector<TrainedRun>& baseline,
                    const std::vector<TrainedRun>& candidate, bool enough,
                    const ConvergenceRules& rules, const GateOptions& options) {
  std::vector<double> before;
  std::vector<double> now;
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    const bool both = baseline[i].reached && candidate[i].reached;
    if (!both || !(baseline[i].seconds > 0) || !(candidate[i].seconds > 0)) continue;
    before.push_back(baseline[i].seconds);
    now.push_back(candidate[i].seconds);
  }
  GateRow row = quality_row("time.to-quality", "s", before.size());
  row.group = GateGroup::kPerformance;
  row.margin = rules.seconds_margin;
  row.alarm_only = true;
  if (before.empty()) return row;
  row.baseline = median(before);
  row.candidate = median(now);
  row.improvement = paired_speedup(before, now, 1 - kShareOfOthers * options.alarm);
  if (enough) row.verdict = judge(*row.improvement, rules.seconds_margin);
  return row;
}

}  // namespace

TrainedRun trained_run(const Result& run) {
  TrainedRun trained;
  trained.reached = run.training->target_reached;
  trained.epochs = run.training->epochs;
  trained.max_epochs = run.training->max_epochs;
  trained.seconds = run.training->seconds;
  for (const Metric& metric : run.metrics) {
    if (!metric.tag.starts_with("loss.") && !metric.tag.starts_with("quality.")) continue;
    std::vector<double>& values = trained.course.emplace_back();
    for (const Sample& sample : metric.samples) {
      values.push_back(sample.value.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
  }
  return trained;
}

Convergence judge_convergence(const std::vector<TrainedRun>& baseline,
                              const std::vector<TrainedRun>& candidate, std::size_t planned,
                              const ConvergenceRules& rules, const GateOptions& options) {
  Convergence found;
  found.same_bits =
      std::equal(baseline.begin(), baseline.end(), candidate.begin(), candidate.end(), same_course);
  const bool enough = baseline.size() >= std::max(planned, rules.fewest_seeds);
  found.rows = {epochs_row(baseline, candidate, enough, rules, options),
                misses_row(baseline, candidate, enough, options),
                seconds_row(baseline, candidate, enough, rules, options)};
  GateRow& epochs = found.rows.front();
  if (found.same_bits) {
    epochs.verdict = Verdict::kSame;
    epochs.note = fmt::format("the same to the last bit over {}",
                              format_count(std::ssize(baseline), "whole training"));
  } else if (!enough) {
    epochs.note =
        fmt::format("{} of {} seeds", baseline.size(), std::max(planned, rules.fewest_seeds));
  }
  return found;
}

}  // namespace harness
