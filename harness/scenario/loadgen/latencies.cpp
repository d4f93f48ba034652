#include "harness/scenario/loadgen/latencies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "harness/base/metric_kind.hpp"

namespace harness::loadgen {
namespace {

// A metric holds this many samples at most; the samples file and the histogram have them all.
constexpr std::size_t kMostSamples = 100'000;

}  // namespace

Latencies::Latencies(bool offline)
    : what_(offline
                ? standard_metric("time.batch", "wall time of samples that were answered together")
                : standard_metric("latency.query",
                                  "from when a query was to come until its answer")) {}

void Latencies::add(std::int64_t step, bool warmup, double seconds) {
  if (!warmup) histogram_.add(seconds);
  all_.push_back({step, warmup, seconds});
}

void Latencies::forget_timed() {
  histogram_ = {};
  std::erase_if(all_, [](const One& one) { return !one.warmup; });
}

Metric Latencies::take() {
  Metric metric = std::move(what_);
  const auto timed = static_cast<std::size_t>(histogram_.total());
  const std::size_t distance = (timed + kMostSamples - 1) / kMostSamples;
  std::size_t i = 0;
  for (const One& one : all_) {
    if (!one.warmup && distance > 1 && i++ % distance != 0) continue;
    Sample sample{one.step, one.warmup, one.seconds, ""};
    if (!std::isfinite(one.seconds)) sample = {one.step, one.warmup, std::nullopt, "not finite"};
    metric.samples.push_back(std::move(sample));
  }
  if (distance > 1) {
    metric.warnings.push_back(
        fmt::format("one sample in {} is here; the samples file and the histogram have all {}",
                    distance, timed));
  }
  return metric;
}

double usual_of_warm_up(std::vector<double> seconds) {
  const auto half = seconds.begin() + std::ssize(seconds) / 2;
  const auto middle = half + std::distance(half, seconds.end()) / 2;
  std::nth_element(half, middle, seconds.end());
  return *middle;
}

}  // namespace harness::loadgen
