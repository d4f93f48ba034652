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

/// The median of what the run's scenario times; empty where it timed nothing.
std::optional<Figure> figure_of(const Result& run);

/// A point of the curve of a run's latencies.
struct LatencyPoint {
  double percentile = 0;  ///< 0 to 100
  double seconds = 0;
};

/// By percentile; of a run whose latencies are not known empty.
std::vector<LatencyPoint> latencies_of(const Result& run);

/// "latency.p90 4.10 ms", safe to print.
std::string figure_text(const Figure& figure);

}  // namespace harness
