#include "harness/report/page/html_plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/text.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {
namespace {

double largest_of(const std::vector<Sample>& samples) {
  double largest = 0;
  for (const Sample& sample : samples) largest = std::max(largest, std::abs(*sample.value));
  return largest;
}

std::string axis_label(const Metric& metric, const PlotUnit& unit) {
  return printable(metric.tag, kNameBytes) + (unit.label.empty() ? "" : ", " + unit.label);
}

bool is_plottable(double value) { return std::abs(value) <= kLargestPlotted; }

}  // namespace

PagePlot sample_plot(const Metric& metric, const ThinSamples& samples, const std::string& x_label) {
  const PlotUnit unit = plot_unit(largest_of(samples.kept), metric.unit);
  PagePlot plot{.title = "Samples of " + printable(metric.tag, kNameBytes)};
  plot.choice = printable(metric.tag, kNameBytes);
  plot.x.label = x_label;
  plot.y.label = axis_label(metric, unit);
  PlotSeries& series = plot.series.emplace_back();
  series.name = printable(metric.tag, kNameBytes);
  for (const Sample& sample : samples.kept) {
    PlotPoint point{
        static_cast<double>(sample.step), plotted(*sample.value * unit.factor), {}, {}, {}};
    if (sample.warmup) point.label = "warm-up";
    series.points.push_back(point);
  }
  if (samples.warmup_until > 0 && !samples.kept.empty()) {
    const double from = std::min<double>(1, static_cast<double>(samples.kept.front().step));
    plot.bands.push_back({from - 0.5, static_cast<double>(samples.warmup_until) + 0.5, "warm-up"});
  }
  plot.description = fmt::format("{} by {}, {}", printable(metric.tag, kNameBytes), x_label,
                                 format_count(static_cast<long long>(samples.total), "sample"));
  if (samples.warmup_until > 0) {
    plot.description += fmt::format(", warm-up until {} {}", x_label, samples.warmup_until);
  }
  const std::optional<Interval>& median = metric.summary.median;
  if (median && is_plottable(median->center)) {
    plot.marks.push_back({plotted(median->center * unit.factor), "median", true});
    plot.description += ". Median and quartiles " + with_quartiles(metric.summary, metric.unit);
  }
  if (metric.summary.min && metric.summary.max) {
    plot.description +=
        fmt::format(", smallest {}, largest {}", format_quantity(*metric.summary.min, metric.unit),
                    format_quantity(*metric.summary.max, metric.unit));
  }
  plot.description += ".";
  if (samples.kept.size() + samples.unplotted < samples.total) {
    plot.description +=
        fmt::format(" {} of {} are drawn: the smallest and the largest of each stretch.",
                    format_count(std::ssize(samples.kept), "sample"), samples.total);
  }
  if (samples.unplotted > 0) {
    plot.description += fmt::format(
        " Not drawn: {} without a value or beyond {:g}.",
        format_count(static_cast<long long>(samples.unplotted), "sample"), kLargestPlotted);
  }
  return plot;
}

PagePlot histogram_plot(const Metric& metric, const Histogram& histogram) {
  double largest = 0;
  for (const double edge : histogram.edges) largest = std::max(largest, std::abs(edge));
  const PlotUnit unit = plot_unit(largest, metric.unit);
  PagePlot plot{.title = "Distribution of " + printable(metric.tag, kNameBytes)};
  plot.choice = printable(metric.tag, kNameBytes);
  plot.x.label = axis_label(metric, unit) + ", after the warm-up";
  plot.y.label = "samples";
  plot.y.from_zero = true;
  PlotSeries& series = plot.series.emplace_back();
  series.name = "samples";
  series.style = PlotStyle::kBars;
  if (!histogram.edges.empty()) {
    plot.x.edges = {plotted(histogram.edges.front() * unit.factor),
                    plotted(histogram.edges.back() * unit.factor)};
  }
  std::size_t total = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const double from = histogram.edges[i] * unit.factor;
    const double to = histogram.edges[i + 1] * unit.factor;
    plot.x.names.push_back(fmt::format("{:.4g}", from / 2 + to / 2));
    series.points.push_back({static_cast<double>(i),
                             static_cast<double>(histogram.counts[i]),
                             {},
                             {},
                             fmt::format("{:.5g} to {:.5g}", from, to)});
    total += histogram.counts[i];
  }
  plot.description =
      fmt::format("Histogram of {} in {}.", format_count(static_cast<long long>(total), "sample"),
                  format_count(std::ssize(histogram.counts), "bin"));
  return plot;
}

std::optional<PagePlot> roofline_plot(const Result& run) {
  if (!run.cost || !run.cost->achieved_flops_per_second) return std::nullopt;
  const Cost& cost = run.cost->cost;
  const std::optional<double> flops = peak_of(run.peaks, "fma." + cost.precision);
  const std::optional<double> bandwidth = peak_of(run.peaks, "copy.bandwidth");
  const auto fits = [](double value) { return value > 1e-6 && value < 1e30; };
  if (!flops || !bandwidth || !fits(*flops) || !fits(*bandwidth) || !fits(cost.step_flops) ||
      !fits(cost.step_bytes) || !fits(*run.cost->achieved_flops_per_second)) {
    return std::nullopt;
  }
  constexpr double kGiga = 1e-9;
  PagePlot plot{.title = "Roofline"};
  plot.x = {"FLOP per byte", true, {}, false, {}};
  plot.y = {"GFLOP/s", true, {}, false, {}};
  PlotSeries step{"achieved", PlotStyle::kPoints, 1, {}};
  const auto add = [&](const std::string& name, double work, double bytes, double rate) {
    if (!fits(work) || !fits(bytes) || !fits(rate)) return;
    step.points.push_back({plotted(work / bytes), plotted(rate * kGiga), {}, {}, name});
  };
  add("step", cost.step_flops, cost.step_bytes, *run.cost->achieved_flops_per_second);
  for (const auto& [phase, work] : cost.phase_flops) {
    const auto bytes = cost.phase_bytes.find(phase);
    if (bytes == cost.phase_bytes.end()) continue;
    for (const Metric& metric : run.metrics) {
      if (metric.tag != "time.phase." + phase || !metric.summary.median) continue;
      add(printable(phase, 40), work, bytes->second, work / metric.summary.median->center);
    }
  }
  const double ridge = *flops / *bandwidth;
  double least = ridge / 10;
  double most = ridge * 10;
  for (const PlotPoint& point : step.points) {
    least = std::min(least, point.x / 2);
    most = std::max(most, point.x * 2);
  }
  plot.series.push_back(
      {"peak " + printable(cost.precision, 16) + " and copy bandwidth",
       PlotStyle::kLine,
       0,
       {{plotted(least), plotted(least * *bandwidth * kGiga), {}, {}, "copy bandwidth"},
        {plotted(ridge), plotted(*flops * kGiga), {}, {}, "ridge"},
        {plotted(most), plotted(*flops * kGiga), {}, {}, "peak"}}});
  plot.series.push_back(std::move(step));
  plot.description = fmt::format(
      "The step does {:.3g} FLOP for each byte that must move and reaches {} of a measured peak of "
      "{}. Copy bandwidth: {}. Bytes are the least that must move, so the step may really lie "
      "further left. The roof is that of direct convolution: what multiplies less can pass it.",
      cost.step_flops / cost.step_bytes,
      format_quantity(*run.cost->achieved_flops_per_second, "FLOP/s"),
      format_quantity(*flops, "FLOP/s"), format_quantity(*bandwidth, "B/s"));
  return plot;
}

}  // namespace harness
