#include "harness/kinds/ablation/plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/kinds/ablation/lines.hpp"
#include "harness/kinds/ablation/scaling.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

constexpr const char* kOfDifferentTimes = " Medians of different groups are of different times.";

bool in_groups(const Ablation& ablation) { return groups_of(ablation).size() > 1; }

bool drawable(const std::optional<double>& seconds) {
  return seconds && *seconds >= 0 && *seconds <= kLargestPlotted;
}

std::vector<std::string> shown_names(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.push_back(printable(variant.name, kNameBytes));
  return names;
}

PlotUnit unit_of(const std::vector<Variant>& variants) {
  double largest = 0;
  for (const Variant& variant : variants) {
    if (drawable(variant.median_seconds)) largest = std::max(largest, *variant.median_seconds);
  }
  return plot_unit(largest, "s");
}

/// What can be drawn side by side: medians of one time. Where variants were measured in groups,
/// that is what each would have taken when the first one took its median.
std::vector<std::optional<double>> seconds_of_one_time(const Ablation& ablation) {
  const bool grouped = in_groups(ablation);
  const std::optional<double>& first = ablation.variants.front().median_seconds;
  std::vector<std::optional<double>> seconds;
  for (const Variant& variant : ablation.variants) {
    std::optional<double>& value = seconds.emplace_back(variant.median_seconds);
    if (!grouped) continue;
    const std::optional<Interval>& ratio = variant.to_first.value;
    value = first && ratio ? std::optional(*first / ratio->center) : std::nullopt;
  }
  return seconds;
}

PagePlot waterfall(const Ablation& ablation) {
  const std::vector<Variant>& variants = ablation.variants;
  const std::vector<std::optional<double>> steps = seconds_of_one_time(ablation);
  const bool grouped = in_groups(ablation);
  const PlotUnit unit = unit_of(variants);
  PagePlot plot{.title = "Waterfall: what each variant brings to a step"};
  plot.y.names = shown_names(variants);
  const std::string measure = grouped ? "first variant's median step / x first" : "median step";
  plot.x = {measure + ", " + unit.label, false, {}, true};
  PlotSeries whole{measure, PlotStyle::kBars, kMutedColour, {}};
  PlotSeries faster{"saved against what it builds on", PlotStyle::kBars, kGoodColour, {}};
  PlotSeries slower{"lost against what it builds on", PlotStyle::kBars, kBadColour, {}};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Variant& variant = variants[i];
    if (!drawable(steps[i])) continue;
    const double seconds = *steps[i];
    const auto place = static_cast<double>(i);
    std::string label = format_quantity(seconds, "s");
    if (is_doubtful(variant)) label += "  doubtful";
    const Variant* base = find_named(variants, variant.to_previous.to);
    const std::optional<double> of_base =
        base == nullptr ? std::nullopt : steps[static_cast<std::size_t>(base - variants.data())];
    if (drawable(of_base) && base != &variant) {
      const double before = *of_base;
      PlotSeries& delta = seconds <= before ? faster : slower;
      delta.points.push_back({plotted(std::max(before, seconds) * unit.factor),
                              place,
                              plotted(std::min(before, seconds) * unit.factor),
                              {},
                              "against " + printable(base->name, kNameBytes)});
      if (variant.to_previous.value) {
        label += fmt::format("  × {:.2f}", variant.to_previous.value->center);
      }
    }
    whole.points.push_back({plotted(seconds * unit.factor), place, 0, {}, label});
  }
  plot.series = {whole, faster, slower};
  drop_empty_series(plot);
  plot.description = fmt::format(
      "A bar is {}. The number beside it says how many times faster that is than the variant it "
      "builds on. The table lists the intervals.{}",
      grouped ? "the first variant's median step over the ratio of a variant to it"
              : "the median step of a variant",
      grouped ? kOfDifferentTimes : "");
  return plot;
}

PagePlot ratios(const std::vector<Variant>& variants) {
  PagePlot plot{.title = "Times faster, with 95 % intervals"};
  plot.y.names = shown_names(variants);
  plot.x.label = "times faster";
  plot.marks.push_back({1, "same speed", false});
  double least = 1;
  double most = 1;
  const auto add = [&](const char* name, std::size_t colour, Speedup Variant::*ratio) {
    PlotSeries series{name, PlotStyle::kPoints, colour, {}};
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const Speedup& speedup = variants[i].*ratio;
      if (!speedup.value || speedup.to == variants[i].name || is_doubtful(variants[i])) continue;
      const Interval& value = *speedup.value;
      if (!(value.center <= kLargestPlotted)) continue;
      least = std::min(least, value.low.value_or(value.center));
      most = std::max(most, value.center);
      PlotPoint point{plotted(value.center),
                      static_cast<double>(i) + 0.2 * (static_cast<double>(colour) - 1)};
      set_bounds(point, value);
      point.label = fmt::format("{}: {} against {}", printable(variants[i].name, kNameBytes),
                                ratio_text(value), printable(speedup.to, 40));
      series.points.push_back(point);
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  };
  add("against the first variant", 0, &Variant::to_first);
  add("against what it builds on", 1, &Variant::to_previous);
  add("against reference kernels, all else equal", 2, &Variant::to_reference);
  // Tenfold and more would press the others against each other.
  plot.x.logarithmic = least > 0 && most / least > 10;
  plot.description = "The table of variants lists the same ratios.";
  return plot;
}

/// Rounds of a cluster, of its groups together, in the order in which they were measured.
class RoundPlaces {
 public:
  explicit RoundPlaces(const Ablation& ablation) : groups_(std::ssize(groups_of(ablation))) {
    for (const Variant& variant : ablation.variants) {
      for (const Turn& turn : variant.turns) rounds_ = std::max(rounds_, turn.round);
    }
  }
  /// 1-based.
  std::int64_t of(const Turn& turn) const {
    if (turn.cluster == 0) return turn.round;
    return ((turn.cluster - 1) * groups_ + turn.group - 1) * rounds_ + turn.round;
  }

 private:
  std::int64_t groups_;
  std::int64_t rounds_ = 0;
};

PagePlot turns(const Ablation& ablation) {
  constexpr std::size_t kMostLines = 12;
  const std::vector<Variant>& variants = ablation.variants;
  const RoundPlaces places(ablation);
  const PlotUnit unit = unit_of(variants);
  PagePlot plot{.title = "Turns over the rounds"};
  plot.x.label = "round";
  plot.y = {"median step of the turn, " + unit.label, false, {}, true};
  std::int64_t warmup_until = 0;
  for (std::size_t i = 0; i < std::min(variants.size(), kMostLines); ++i) {
    PlotSeries series{printable(variants[i].name, kNameBytes), PlotStyle::kLine, i, {}};
    std::vector<Sample> samples;
    for (const Turn& turn : variants[i].turns) {
      if (turn.step_seconds.empty()) continue;
      samples.push_back({places.of(turn), turn.warmup, median(turn.step_seconds), {}});
    }
    const ThinSamples kept = thin(samples);
    warmup_until = std::max(warmup_until, kept.warmup_until);
    for (const Sample& sample : kept.kept) {
      series.points.push_back(
          {static_cast<double>(sample.step), plotted(*sample.value * unit.factor)});
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  if (warmup_until > 0) {
    plot.bands.push_back({0.5, static_cast<double>(warmup_until) + 0.5, "warm-up"});
  }
  plot.description = "One line per variant, one point per round.";
  if (in_groups(ablation)) {
    plot.description += " Only the first variant has points in the rounds of every group.";
  }
  if (warmup_until > 0) {
    plot.description += fmt::format(" Rounds 1 to {} are warm-up.", warmup_until);
  }
  plot.description += " When the machine drifts, all lines move together.";
  if (variants.size() > kMostLines) {
    plot.description += fmt::format(" Only the first {} variants are drawn.", kMostLines);
  }
  return plot;
}

std::optional<PagePlot> phases(const Ablation& ablation) {
  constexpr std::size_t kMostPhases = 8;
  const std::vector<Variant>& variants = ablation.variants;
  std::set<std::string> names;
  for (const Variant& variant : variants) {
    for (const VariantPhase& phase : variant.phases) names.insert(phase.name);
  }
  if (names.empty() || names.size() > kMostPhases) return std::nullopt;
  const PlotUnit unit = unit_of(variants);
  PagePlot plot{.title = "Where the time of a step goes"};
  plot.y.names = shown_names(variants);
  plot.x = {"median of each phase, " + unit.label, false, {}, true};
  std::vector<double> ends(variants.size(), 0);
  std::size_t colour = 0;
  for (const std::string& name : names) {
    PlotSeries series{printable(name, kNameBytes), PlotStyle::kBars, colour++, {}};
    for (std::size_t i = 0; i < variants.size(); ++i) {
      for (const VariantPhase& phase : variants[i].phases) {
        if (phase.name != name || !drawable(phase.median_seconds)) continue;
        const double from = ends[i];
        ends[i] += phase.median_seconds * unit.factor;
        series.points.push_back({plotted(ends[i]), static_cast<double>(i), plotted(from)});
      }
    }
    plot.series.push_back(std::move(series));
  }
  plot.description =
      "The medians of the phases, end to end. They need not add up to the median of the step. The "
      "table of phases lists them.";
  if (in_groups(ablation)) plot.description += kOfDifferentTimes;
  return plot;
}

PagePlot efficiency(const Ablation& ablation) {
  PagePlot plot{.title = "Efficiency by the number of ranks, with 95 % intervals"};
  plot.x.label = "ranks";
  plot.y = {"efficiency", false, {}, true};
  plot.marks.push_back({1, "perfect", true});
  for (const bool strong : {false, true}) {
    PlotSeries series{strong ? "strong: all share one batch" : "weak: each has its own batch",
                      PlotStyle::kLine,
                      strong ? std::size_t{1} : std::size_t{0},
                      {}};
    for (const ScaleRow& row : scale_rows(ablation)) {
      if (row.strong != strong || !row.efficiency.value) continue;
      const Interval& value = *row.efficiency.value;
      PlotPoint point{static_cast<double>(row.ranks), plotted(value.center)};
      set_bounds(point, value);
      series.points.push_back(point);
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  plot.description =
      "Samples a second of each rank, as a share of those in the smallest world. The table lists "
      "them.";
  return plot;
}

}  // namespace

std::vector<PagePlot> ablation_plots(const Ablation& ablation) {
  std::vector<PagePlot> plots = {waterfall(ablation), ratios(ablation.variants)};
  if (is_scaling(ablation)) plots.insert(plots.begin(), efficiency(ablation));
  if (const auto plot = phases(ablation)) plots.push_back(*plot);
  plots.push_back(turns(ablation));
  return plots;
}

}  // namespace harness
