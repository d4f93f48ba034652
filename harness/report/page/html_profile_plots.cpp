#include "harness/report/page/html_profile_plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/text.hpp"
#include "harness/profile/views.hpp"
#include "harness/report/page/html_facts.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostBars = 16;

std::string share_text(double seconds, double step_seconds) {
  const std::string time = format_quantity(seconds, "s");
  return step_seconds > 0 ? fmt::format("{} · {:.1f} %", time, 100 * seconds / step_seconds) : time;
}

std::string bar_name(const PrimitiveSum& sum) {
  std::string name = pass_name(sum.kind, sum.direction);
  for (const std::string* part : {&sum.type, &sum.implementation}) {
    if (!part->empty()) name += " " + *part;
  }
  return printable(name, 2 * kNameBytes);
}

}  // namespace

std::optional<PagePlot> primitives_plot(const ProfileTables& tables) {
  const std::vector<PrimitiveSum> sums = by_primitive(tables);
  if (sums.empty() || !(sums.front().seconds > 0 && sums.front().seconds <= kLargestPlotted))
    return std::nullopt;
  const PlotUnit unit = plot_unit(sums.front().seconds, "s");
  PagePlot plot{.title = "Primitives by what they take of a step"};
  plot.wide = true;
  plot.x = {"time in a step, " + unit.label, false, {}, true};
  PlotSeries fast{"computes", PlotStyle::kBars, 0, {}};
  PlotSeries copies{"copies into another layout", PlotStyle::kBars, 4, {}};
  PlotSeries slow{"no fast implementation", PlotStyle::kBars, kBadColour, {}};
  PlotSeries rest{"others", PlotStyle::kBars, 7, {}};
  double all = 0;
  double others = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const PrimitiveSum& sum = sums[i];
    all += sum.seconds;
    if (i >= kMostBars) {
      others += sum.seconds;
      continue;
    }
    PlotSeries& series = is_reference_implementation(sum.implementation) ? slow
                         : sum.kind == "reorder"                         ? copies
                                                                         : fast;
    series.points.push_back({plotted(sum.seconds * unit.factor),
                             static_cast<double>(i),
                             {},
                             {},
                             share_text(sum.seconds, tables.step_seconds)});
    plot.y.names.push_back(bar_name(sum));
  }
  if (sums.size() > kMostBars) {
    plot.y.names.push_back(fmt::format("{} more", sums.size() - kMostBars));
    rest.points.push_back({plotted(others * unit.factor),
                           static_cast<double>(kMostBars),
                           {},
                           {},
                           share_text(others, tables.step_seconds)});
  }
  plot.series = {fast, copies, slow, rest};
  drop_empty_series(plot);
  plot.description = fmt::format(
      "All primitives and kernels together take {} of a step. They are grouped by kind, direction, "
      "type and implementation. The table lists their calls and rates.",
      share_text(all, tables.step_seconds));
  return plot;
}

std::optional<PagePlot> memory_plot(const ProfileTables& tables) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < tables.memory.size(); ++i) {
    const MemoryPoint& point = tables.memory[i];
    if (!(std::abs(point.seconds) <= kLargestPlotted)) continue;
    samples.push_back({static_cast<std::int64_t>(i), false, point.bytes, ""});
  }
  const ThinSamples kept = thin(samples);
  if (kept.kept.size() < 2) return std::nullopt;
  const auto peak =
      std::max_element(kept.kept.begin(), kept.kept.end(),
                       [](const Sample& a, const Sample& b) { return *a.value < *b.value; });
  const PlotUnit unit = plot_unit(*peak->value, "B");
  const auto seconds_of = [&](const Sample& sample) {
    return tables.memory[static_cast<std::size_t>(sample.step)].seconds;
  };
  PagePlot plot{.title = "Memory in use within a step"};
  plot.x.label = "seconds since the first recorded step began";
  plot.y = {"in use, " + unit.label, false, {}, true};
  PlotSeries& series = plot.series.emplace_back();
  series.name = "in use";
  for (const Sample& sample : kept.kept) {
    series.points.push_back({plotted(seconds_of(sample)), plotted(*sample.value * unit.factor)});
  }
  const std::string most = format_quantity(*peak->value, "B");
  plot.marks.push_back({plotted(*peak->value * unit.factor), "peak " + most, true});
  plot.description = fmt::format(
      "Memory of the whole process at each allocation and release: {} at the beginning, at most {} "
      "(after {}), {} at the end.",
      format_quantity(*kept.kept.front().value, "B"), most, format_quantity(seconds_of(*peak), "s"),
      format_quantity(*kept.kept.back().value, "B"));
  return plot;
}

}  // namespace harness
