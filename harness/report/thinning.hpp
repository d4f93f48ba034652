// Many samples as few points that look the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"

namespace harness {

/// Most points of a curve in a plot; a screen has no more columns to show them in.
inline constexpr std::size_t kMostPoints = 400;
/// Beyond this a number is no measurement and would only flatten the rest of a plot.
inline constexpr double kLargestPlotted = 1e100;

/// What a plot of a metric needs of its samples.
struct ThinSamples {
  std::vector<Sample> kept{};     ///< in order; all with a value that can be plotted
  std::size_t total = 0;          ///< before
  std::size_t unplotted = 0;      ///< without a value, or beyond kLargestPlotted
  std::int64_t warmup_until = 0;  ///< last step of the warm-up; 0 without one
};

/// At most `limit` (at least 4) of the samples, or all: the first, the last, and of equal stretches
/// between the smallest and the largest, so that no outlier is lost.
ThinSamples thin(const std::vector<Sample>& samples, std::size_t limit = kMostPoints);

/// `value` as a plot can bear it: no denormals, at most seven digits. Precondition: finite.
double plotted(double value);

struct Histogram {
  std::vector<double> edges{};  ///< one more than counts; empty without samples
  std::vector<std::size_t> counts{};
};

/// Of the samples after the warm-up that can be plotted, in equal bins whose number follows from
/// how many there are and how they spread (Freedman and Diaconis 1981), 40 at most.
Histogram histogram_of(const std::vector<Sample>& samples);

/// The unit that fits numbers as large as `largest` in `unit`, and what to multiply them by.
struct PlotUnit {
  std::string label{};
  double factor = 1;
};
PlotUnit plot_unit(double largest, const std::string& unit);

}  // namespace harness
