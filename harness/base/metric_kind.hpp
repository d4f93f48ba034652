// What the tag of a metric or of a peak alone says of it, for those who make them and for those who
// check them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/base/metric.hpp"

namespace harness {

struct MetricKind {
  std::string_view prefix{};             ///< of the tag, with the dot, or the whole tag
  std::string_view unit{};               ///< empty: the metric has one of its own
  std::optional<Direction> direction{};  ///< empty: the metric has one of its own
};

/// By the tag's family: times are in seconds and better when smaller, and so on. Empty for tags of
/// no standard family, which a workload may define as it likes.
std::optional<MetricKind> metric_kind(std::string_view tag);

/// A metric without samples, its unit and direction by its tag. Throws std::invalid_argument for a
/// tag whose family does not say both.
Metric standard_metric(std::string tag, std::string description);

}  // namespace harness
