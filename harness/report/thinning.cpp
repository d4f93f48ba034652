#include "harness/report/thinning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr double kSmallestPlotted = 1e-100;
constexpr std::size_t kMostBins = 40;

bool can_be_plotted(const Sample& sample) {
  return sample.value && std::abs(*sample.value) <= kLargestPlotted;  // false for NaN
}

/// The smallest and the largest of a stretch, in the order in which they were measured.
void keep_extremes(std::span<const Sample> stretch, std::vector<Sample>& kept) {
  const auto less = [](const Sample& a, const Sample& b) { return *a.value < *b.value; };
  auto [least, most] = std::minmax_element(stretch.begin(), stretch.end(), less);
  if (most < least) std::swap(least, most);
  kept.push_back(*least);
  if (least != most) kept.push_back(*most);
}

double quantile(const std::vector<double>& sorted, double p) {
  return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

ThinSamples thin(const std::vector<Sample>& samples, std::size_t limit) {
  ThinSamples result;
  result.total = samples.size();
  std::vector<Sample> drawn;
  for (const Sample& sample : samples) {
    if (sample.warmup) result.warmup_until = std::max(result.warmup_until, sample.step);
    if (can_be_plotted(sample)) {
      drawn.push_back({sample.step, sample.warmup, sample.value, {}});
    } else {
      ++result.unplotted;
    }
  }
  if (drawn.size() <= limit) {
    result.kept = std::move(drawn);
    return result;
  }
  const std::span<const Sample> between =
      std::span<const Sample>(drawn).subspan(1, drawn.size() - 2);
  const std::size_t stretches = std::max<std::size_t>(1, (limit - 2) / 2);
  result.kept.push_back(drawn.front());
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t from = between.size() * i / stretches;
    const std::size_t to = between.size() * (i + 1) / stretches;
    if (from < to) keep_extremes(between.subspan(from, to - from), result.kept);
  }
  result.kept.push_back(drawn.back());
  return result;
}

double plotted(double value) {
  if (std::abs(value) < kSmallestPlotted) return 0;
  return parse_number(fmt::format("{:.7g}", value)).value_or(0);
}

Histogram histogram_of(const std::vector<Sample>& samples) {
  std::vector<double> values;
  for (const Sample& sample : samples) {
    if (!sample.warmup && can_be_plotted(sample)) values.push_back(*sample.value);
  }
  Histogram histogram;
  if (values.empty()) return histogram;
  std::sort(values.begin(), values.end());
  const double low = values.front();
  const double range = values.back() - low;
  const double width = 2 * (quantile(values, 0.75) - quantile(values, 0.25)) /
                       std::cbrt(static_cast<double>(values.size()));
  std::size_t bins = 1;
  if (range > kSmallestPlotted) {
    // Where half of the samples are the same, their number alone decides (Sturges 1926).
    const double wanted = width > 0 ? range / width : std::log2(static_cast<double>(values.size()));
    bins = static_cast<std::size_t>(
        std::clamp(std::ceil(wanted), 1.0, static_cast<double>(kMostBins)));
  }
  const double step = range > 0 ? range / static_cast<double>(bins) : 1;
  for (std::size_t i = 0; i <= bins; ++i) {
    histogram.edges.push_back(low + step * static_cast<double>(i));
  }
  histogram.counts.assign(bins, 0);
  for (const double value : values) {
    const double place = range > 0 ? (value - low) / step : 0;
    ++histogram.counts[std::min(bins - 1, static_cast<std::size_t>(std::max(0.0, place)))];
  }
  return histogram;
}

PlotUnit plot_unit(double largest, const std::string& unit) {
  const double size = std::abs(largest);
  if (unit == "s") {
    if (size >= 300) return {"min", 1.0 / 60};
    if (size >= 1 || size == 0) return {"s", 1};
    return size >= 1e-3 ? PlotUnit{"ms", 1e3} : PlotUnit{"us", 1e6};
  }
  const bool binary = unit == "B";
  if (!binary && unit != "FLOP/s" && unit != "B/s" && unit != "FLOP") {
    return {unit == "1" ? "" : printable(unit, 20), 1};
  }
  constexpr std::array kPrefixes = {"", "k", "M", "G", "T", "P"};
  const double base = binary ? 1024 : 1000;
  double scale = 1;
  std::size_t prefix = 0;
  while (size / scale >= base && prefix + 1 < kPrefixes.size()) {
    scale *= base;
    ++prefix;
  }
  const std::string binary_mark = binary && prefix > 0 ? "i" : "";
  // Binary prefixes are written Ki, Mi, Gi.
  const std::string letter = binary && prefix == 1 ? "K" : kPrefixes[prefix];
  return {letter + binary_mark + unit, 1 / scale};
}

}  // namespace harness
