// The one figure that a run stands for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/result/result.hpp"

namespace harness {

struct Figure {
  std::string tag{};
  std::string unit{};
  Direction direction = Direction::kLower;
  double value = 0;
};

/// LoadGen's, where it drove the run; else the median of what the run's scenario times. Empty where
/// nothing was timed.
std::optional<Figure> figure_of(const Result& run);

/// A point of the curve of a run's latencies.
struct LatencyPoint {
  double percentile = 0;  ///< 0 to 100
  double seconds = 0;
};

/// By percentile; empty for a run in which queries were not answered one by one.
std::vector<LatencyPoint> latencies_of(const Result& run);

/// "latency.p90 4.10 ms", safe to print.
std::string figure_text(const Figure& figure);

}  // namespace harness
