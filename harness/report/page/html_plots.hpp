// Plots of one run.
#pragma once

#include <optional>
#include <string>

#include "harness/report/html_data.hpp"
#include "harness/report/thinning.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Samples over the steps (`x_label` says of what), warm-up shaded, the median as a line.
PagePlot sample_plot(const Metric& metric, const ThinSamples& samples, const std::string& x_label);
PagePlot histogram_plot(const Metric& metric, const Histogram& histogram);
/// Where the steps lie under the machine's peaks; empty where work, traffic or a peak is unknown.
std::optional<PagePlot> roofline_plot(const Result& run);

}  // namespace harness
