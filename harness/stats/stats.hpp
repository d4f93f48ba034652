// Summaries of samples. Pure functions; nothing here knows where numbers come from.
#pragma once

#include <span>
#include <vector>

#include "harness/base/metric.hpp"

namespace harness {

/// Median with a distribution-free interval from order statistics (binomial). Without enough
/// samples for `confidence` (5 for 0.90, 6 for 0.95) the bounds are empty. Precondition: not empty,
/// finite.
Interval median_interval(std::span<const double> values, double confidence = 0.95);

/// The p-quantile by order statistics, or nothing when n is too small for it to differ from the
/// maximum by design: n * (1 - p) >= 5.
std::optional<double> tail_quantile(std::span<const double> values, double p);

/// Fills `metric.summary` and `metric.warnings` from its samples, warm-up left out.
void summarise(Metric& metric);

}  // namespace harness
