// Vocabulary shared by scenarios, the result file and the reports: a metric is a tagged series of
// samples with a unit and a direction. Printers format by unit and never know a metric by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// Which way a metric improves.
enum class Direction { kLower, kHigher, kNone };

/// One measured value. `value` is empty when the measurement was not finite; `reason` then says
/// why.
struct Sample {
  std::int64_t step = 0;          ///< 1-based step number within the run, warm-up included
  bool warmup = false;            ///< recorded, but left out of the summary
  std::optional<double> value{};  ///< in the metric's unit
  std::string reason{};           ///< why `value` is missing
};

/// An estimate with its interval. `low`/`high` are empty when n is too small for `confidence`.
struct Interval {
  double center = 0;
  std::optional<double> low{};
  std::optional<double> high{};
  double confidence = 0;  ///< achieved, at least what was asked for; 0 without an interval
};

/// From the first quartile to the third: half of all samples lie within. How far they spread, and
/// no promise of where those of another process will lie.
struct Quartiles {
  double low = 0;
  double high = 0;
};

/// Summary of the samples after warm-up.
struct Summary {
  std::int64_t n = 0;
  /// Without bounds: samples of one process follow each other and are not independent. Files before
  /// 1.7.0 hold bounds as if they were, which nobody may be shown as a promise.
  std::optional<Interval> median{};
  std::optional<Quartiles> quartiles{};  ///< with the median
  std::optional<double> min{};
  std::optional<double> max{};
  std::optional<double> p90{};  ///< only where n supports it
  std::optional<double> p99{};  ///< only where n supports it
};

/// `tag` is dotted, general to special: `time.step`, `time.phase.forward`, `loss.total`.
/// `unit` is s, B, FLOP/s, B/s, 1 (a plain number) or a word of its own: samples/s, queries/s.
struct Metric {
  std::string tag{};
  std::string unit{};
  Direction direction = Direction::kNone;
  std::string description{};
  std::vector<Sample> samples{};
  Summary summary{};
  std::vector<std::string> warnings{};
};

/// The metric of that tag; null when there is none. Points into `metrics`.
inline const Metric* find_metric(const std::vector<Metric>& metrics, std::string_view tag) {
  for (const Metric& metric : metrics) {
    if (metric.tag == tag) return &metric;
  }
  return nullptr;
}

/// Its median; empty where there is no metric of that tag, or no median of it.
inline std::optional<double> median_of(const std::vector<Metric>& metrics, std::string_view tag) {
  const Metric* metric = find_metric(metrics, tag);
  if (metric == nullptr || !metric->summary.median) return std::nullopt;
  return metric->summary.median->center;
}

}  // namespace harness
