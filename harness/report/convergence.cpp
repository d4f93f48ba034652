#include "harness/report/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

const Metric* metric_of(const Result& run, const std::string& tag) {
  const auto found = std::find_if(run.metrics.begin(), run.metrics.end(),
                                  [&](const Metric& metric) { return metric.tag == tag; });
  return found == run.metrics.end() ? nullptr : &*found;
}

/// Quality after each epoch; one that is not a number reaches nothing.
std::vector<double> curve_of(const Result& run) {
  std::vector<double> curve;
  const Metric* metric =
      run.quality ? metric_of(run, "quality." + run.quality->quality.metric) : nullptr;
  if (metric == nullptr) return curve;
  const bool higher = metric->direction != Direction::kLower;
  const double worst = std::numeric_limits<double>::infinity() * (higher ? -1 : 1);
  for (const Sample& sample : metric->samples) curve.push_back(sample.value.value_or(worst));
  return curve;
}

/// Epochs until `target`, or empty.
std::optional<std::size_t> epochs_to(const std::vector<double>& curve, double target, bool higher) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (higher ? curve[i] >= target : curve[i] <= target) return i + 1;
  }
  return std::nullopt;
}

/// Seconds of the first `epochs` epochs with their evaluations.
std::optional<double> seconds_of(const Result& run, std::size_t epochs) {
  double sum = 0;
  for (const char* tag : {"time.epoch", "time.evaluation"}) {
    const Metric* metric = metric_of(run, tag);
    if (metric == nullptr || metric->samples.size() < epochs) return std::nullopt;
    for (std::size_t i = 0; i < epochs; ++i) sum += metric->samples[i].value.value_or(0);
  }
  return sum;
}

/// Medians and differences of values that each side has for its runs.
ComparedRow row_of(const std::string& name, const std::string& unit,
                   const std::vector<std::vector<double>>& sides) {
  ComparedRow row{name, unit, {}, {}, false, {}};
  for (const std::vector<double>& values : sides) {
    row.values.push_back(values.empty() ? std::nullopt : std::optional(median_interval(values)));
    const bool comparable = !row.changes.empty() && !values.empty() && !sides.front().empty();
    row.changes.push_back(comparable ? std::optional(unpaired_shift(sides.front(), values))
                                     : std::nullopt);
  }
  return row;
}

}  // namespace

bool missed_target(const Result& run) {
  return run.training && !run.training->target_reached &&
         std::any_of(run.status.violations.begin(), run.status.violations.end(),
                     [](const Violation& violation) { return violation.rule == "converged"; });
}

std::vector<ComparedRow> convergence_rows(const std::vector<Side>& sides,
                                          std::optional<double> target) {
  const Result& first = sides.front().runs.front();
  if (!target && first.quality) target = first.quality->target;
  const bool higher = !first.quality || first.quality->quality.direction != Direction::kLower;
  std::size_t common = std::numeric_limits<std::size_t>::max();
  for (const Side& side : sides) {
    for (const Result& run : side.runs) common = std::min(common, curve_of(run).size());
  }
  if (common == 0 || !target) return {};
  std::vector<std::vector<double>> epochs(sides.size());
  std::vector<std::vector<double>> seconds(sides.size());
  std::vector<std::vector<double>> qualities(sides.size());
  std::map<std::size_t, std::string> notes;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    std::size_t missed = 0;
    for (const Result& run : sides[i].runs) {
      const std::vector<double> curve = curve_of(run);
      const std::optional<std::size_t> reached = epochs_to(curve, *target, higher);
      missed += reached ? 0 : 1;
      epochs[i].push_back(static_cast<double>(reached.value_or(curve.size() + 1)));
      qualities[i].push_back(curve[common - 1]);
      if (!reached) continue;
      if (const auto time = seconds_of(run, *reached)) seconds[i].push_back(*time);
    }
    if (missed > 0) {
      notes[i] = fmt::format("{} of {} runs never reached it", missed, sides[i].runs.size());
    }
  }
  std::vector<ComparedRow> rows = {
      row_of(fmt::format("epochs to {:.6g}", *target), "1", epochs),
      row_of(fmt::format("quality after epoch {}", common), "1", qualities),
      row_of(fmt::format("time to {:.6g}", *target), "s", seconds)};
  rows.front().notes = notes;
  return rows;
}

}  // namespace harness
