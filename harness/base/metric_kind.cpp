#include "harness/base/metric_kind.hpp"

#include <array>
#include <stdexcept>
#include <utility>

namespace harness {
namespace {

// The first that fits holds.
constexpr std::array<MetricKind, 10> kKinds = {{
    {"time.", "s", Direction::kLower},
    {"latency.", "s", Direction::kLower},
    {"throughput.samples", "samples/s", Direction::kHigher},
    {"throughput.queries", "queries/s", Direction::kHigher},
    {"throughput.", "", Direction::kHigher},
    {"loss.", "1", Direction::kNone},  // lower is not better: only the quality says what is
    {"quality.", "1", std::nullopt},
    {"epochs.", "1", Direction::kLower},
    {"fma.", "FLOP/s", Direction::kHigher},
    {"copy.", "B/s", Direction::kHigher},
}};

}  // namespace

std::optional<MetricKind> metric_kind(std::string_view tag) {
  for (const MetricKind& kind : kKinds) {
    if (kind.prefix.ends_with('.') ? tag.starts_with(kind.prefix) : tag == kind.prefix) return kind;
  }
  return std::nullopt;
}

Metric standard_metric(std::string tag, std::string description) {
  const std::optional<MetricKind> kind = metric_kind(tag);
  if (!kind || kind->unit.empty() || !kind->direction) {
    throw std::invalid_argument("no standard tag: " + tag);
  }
  Metric metric;
  metric.tag = std::move(tag);
  metric.unit = kind->unit;
  metric.direction = *kind->direction;
  metric.description = std::move(description);
  return metric;
}

}  // namespace harness
