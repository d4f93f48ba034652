#include "harness/gate/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/compare/occasions.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

/// What is beyond any measurement would make ratios that are no numbers.
constexpr double kSmallest = 1e-150;
constexpr double kLargest = 1e150;

struct Reading {
  double value = 0;
  std::string unit{};
  Direction direction = Direction::kLower;
};

std::optional<Reading> read_metric(const Result& run, const std::string& tag) {
  if (tag == "memory.peak") {
    if (!run.memory.peak_bytes) return std::nullopt;
    return Reading{*run.memory.peak_bytes, "B", Direction::kLower};
  }
  if (tag == "quality.value") {
    if (!run.quality || !run.quality->quality.value) return std::nullopt;
    // A quality of 0 is a result, and a bad one: it has to give a ratio.
    const double value = *run.quality->quality.value;
    return Reading{value == 0 ? kSmallest : value, "1", run.quality->quality.direction};
  }
  if (run.loadgen && run.loadgen->figure.tag == tag) {
    const LoadGenFigure& figure = run.loadgen->figure;
    return Reading{figure.value, figure.unit, direction_of(figure)};
  }
  const Metric* metric = find_metric(run.metrics, tag);
  if (metric == nullptr || !metric->summary.median) return std::nullopt;
  return Reading{metric->summary.median->center, metric->unit, metric->direction};
}

void check_reading(const Result& run, const Reading& reading, const GateColumn& column) {
  const auto refuse = [&](const std::string& why) {
    throw Error(fmt::format("metric {} of run {}", column.metric.tag,
                            printable(run.identity.uuid.substr(0, 8))),
                why, "it cannot be gated");
  };
  if (reading.direction == Direction::kNone) refuse("has no direction that is better");
  if (!(reading.value >= kSmallest && reading.value <= kLargest)) {
    refuse(fmt::format("{} is no measured value", reading.value));
  }
  const bool first = column.unit.empty();
  if (!first && (column.unit != reading.unit || column.direction != reading.direction)) {
    refuse("has another unit or direction than in the runs before it");
  }
}

/// The key of each run of a side: its pair, or its hour.
std::vector<std::int64_t> keys_of(const Side& side, bool paired) {
  std::vector<std::int64_t> keys;
  if (paired) {
    for (const Result& run : side.runs) keys.push_back(run.identity.campaign->pair);
    return keys;
  }
  for (const std::size_t hour : hours_of(side)) keys.push_back(static_cast<std::int64_t>(hour));
  return keys;
}

/// Values by key; fills unit and direction of `column`. Counts the runs without the metric.
std::map<std::int64_t, double> values_of(const Side& side, bool paired, GateColumn& column,
                                         std::size_t& missing) {
  const std::vector<std::int64_t> keys = keys_of(side, paired);
  std::map<std::int64_t, std::vector<double>> readings;
  for (std::size_t i = 0; i < side.runs.size(); ++i) {
    const std::optional<Reading> reading = read_metric(side.runs[i], column.metric.tag);
    if (!reading) {
      ++missing;
      continue;
    }
    check_reading(side.runs[i], *reading, column);
    column.unit = reading->unit;
    column.direction = reading->direction;
    readings[keys[i]].push_back(reading->value);
  }
  std::map<std::int64_t, double> values;
  for (const auto& [key, list] : readings) values[key] = median(list);
  return values;
}

}  // namespace

std::vector<double> in_order(const std::map<std::int64_t, double>& side) {
  std::vector<double> values;
  for (const auto& [key, value] : side) values.push_back(value);
  return values;
}

bool of_one_campaign(const Side& baseline, const Side& candidate) {
  const std::optional<CampaignPlace>& first = baseline.runs.front().identity.campaign;
  const auto belongs = [&](const char* side) {
    return [&first, side](const Result& run) {
      const std::optional<CampaignPlace>& place = run.identity.campaign;
      return place && place->id == first->id && place->side == side;
    };
  };
  return first && std::all_of(baseline.runs.begin(), baseline.runs.end(), belongs("baseline")) &&
         std::all_of(candidate.runs.begin(), candidate.runs.end(), belongs("candidate"));
}

std::vector<GateColumn> gate_columns(const Side& baseline, const Side& candidate,
                                     const std::vector<GatedMetric>& metrics, bool paired) {
  std::vector<GateColumn> columns;
  for (const GatedMetric& metric : metrics) {
    GateColumn column{metric, "", Direction::kLower, {}, {}};
    std::size_t missing_before = 0;
    std::size_t missing_now = 0;
    column.baseline = values_of(baseline, paired, column, missing_before);
    column.candidate = values_of(candidate, paired, column, missing_now);
    const bool nowhere = column.baseline.empty() && column.candidate.empty();
    if (nowhere && metric.when_present) continue;
    for (const auto& [side, missing] :
         {std::pair(&baseline, missing_before), std::pair(&candidate, missing_now)}) {
      if (missing == 0) continue;
      throw Error(
          printable(side->name),
          fmt::format("has no metric {} in {} of {} runs", metric.tag, missing, side->runs.size()),
          "rules/gate.json lists the metrics that have to be there");
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace harness
