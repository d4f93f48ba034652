#include "harness/report/page/html_ablation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

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

PagePlot waterfall(const std::vector<Variant>& variants) {
  const PlotUnit unit = unit_of(variants);
  PagePlot plot{.title = "Waterfall: what each variant brings to a step"};
  plot.y.names = shown_names(variants);
  plot.x = {"median step, " + unit.label, false, {}, true};
  PlotSeries whole{"median step", PlotStyle::kBars, kMutedColour, {}};
  PlotSeries faster{"saved against what it builds on", PlotStyle::kBars, kGoodColour, {}};
  PlotSeries slower{"lost against what it builds on", PlotStyle::kBars, kBadColour, {}};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Variant& variant = variants[i];
    if (!drawable(variant.median_seconds)) continue;
    const double seconds = *variant.median_seconds;
    const auto place = static_cast<double>(i);
    std::string label = format_quantity(seconds, "s");
    const Variant* base = find_named(variants, variant.to_previous.to);
    if (base != nullptr && drawable(base->median_seconds) && base != &variant) {
      const double before = *base->median_seconds;
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
  plot.description =
      "A bar is the median step of a variant. The number beside it says how many times faster that "
      "is than the variant it builds on. The table lists the intervals.";
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
      if (!speedup.value || speedup.to == variants[i].name) continue;
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

PagePlot turns(const std::vector<Variant>& variants) {
  constexpr std::size_t kMostLines = 12;
  const PlotUnit unit = unit_of(variants);
  PagePlot plot{.title = "Turns over the rounds"};
  plot.x.label = "round";
  plot.y = {"median step of the turn, " + unit.label, false, {}, true};
  std::int64_t warmup_until = 0;
  for (std::size_t i = 0; i < std::min(variants.size(), kMostLines); ++i) {
    PlotSeries series{printable(variants[i].name, kNameBytes), PlotStyle::kLine, i, {}};
    std::vector<Sample> samples;
    std::int64_t rounds = 0;
    for (const Turn& turn : variants[i].turns) {
      if (turn.step_seconds.empty()) continue;
      // Of several clusters the warm-up would be a band in each: only what counts is shown.
      if (turn.cluster > 0 && turn.warmup) continue;
      ++rounds;
      samples.push_back(
          {turn.cluster > 0 ? rounds : turn.round, turn.warmup, median(turn.step_seconds), {}});
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
  if (warmup_until > 0) {
    plot.description += fmt::format(" Rounds 1 to {} are warm-up.", warmup_until);
  }
  plot.description += " When the machine drifts, all lines move together.";
  if (variants.size() > kMostLines) {
    plot.description += fmt::format(" Only the first {} variants are drawn.", kMostLines);
  }
  return plot;
}

std::optional<PagePlot> phases(const std::vector<Variant>& variants) {
  constexpr std::size_t kMostPhases = 8;
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
  return plot;
}

PageCell ratio_cell(const Variant& variant, const Speedup& speedup) {
  if (!speedup.value || speedup.to == variant.name) return {"-"};
  return {ratio_text(*speedup.value), speedup.value->center};
}

std::string how_measured(const Ablation& ablation) {
  if (clusters_of(ablation) == 0) {
    return "All variants lived in one process and took turns, so each was measured in the wake of "
           "another. Each ratio is a median over the rounds; a round gives one pair of turns. "
           "Above "
           "1 is faster.";
  }
  std::string text =
      "Each variant is a process of its own, and only one steps at a time. A cluster is some "
      "rounds, after which all start anew. Each cluster gives one ratio, the median over its "
      "rounds; the intervals are over the clusters. Above 1 is faster.";
  if (const auto joint = joint_confidence(ablation)) {
    text += fmt::format(
        " Each interval holds for itself alone; all against the first variant hold together with "
        "at least {:.0f} %.",
        std::floor(100 * *joint));
  }
  return text;
}

PageTable variants_table(const std::vector<Variant>& variants) {
  PageTable table{.caption = "Variants, in the order of the rules"};
  table.columns = {{"variant"},           {"what it adds"},      {"builds on"},
                   {"median step", true}, {"x first", true},     {"x previous", true},
                   {"x reference", true}, {"peak memory", true}, {"quality"}};
  for (const Variant& variant : variants) {
    PageCell quality{"-"};
    if (variant.quality && variant.quality->passed) {
      const bool passed = *variant.quality->passed;
      quality = {passed ? "met" : "MISSED", {}, passed ? Tone::kGood : Tone::kBad};
    }
    table.rows.push_back({{printable(variant.name, kNameBytes)},
                          {printable(variant.summary)},
                          {printable(variant.to_previous.to, 60)},
                          quantity_cell(variant.median_seconds, "s"),
                          ratio_cell(variant, variant.to_first),
                          ratio_cell(variant, variant.to_previous),
                          ratio_cell(variant, variant.to_reference),
                          quantity_cell(variant.memory.peak_bytes, "B"),
                          quality});
  }
  return table;
}

PageTable phases_table(const std::vector<Variant>& variants) {
  PageTable table{.caption = "Phases of the step"};
  table.columns = {{"variant"}, {"phase"}, {"median", true}, {"x reference", true}};
  for (const Variant& variant : variants) {
    for (const VariantPhase& phase : variant.phases) {
      table.rows.push_back({{printable(variant.name, kNameBytes)},
                            {printable(phase.name, kNameBytes)},
                            quantity_cell(phase.median_seconds, "s"),
                            ratio_cell(variant, phase.to_reference)});
    }
  }
  limit_rows(table);
  return table;
}

}  // namespace

PageSection ablation_section(const ReportAblation& ablation, const std::string& id) {
  const std::vector<Variant>& variants = ablation.result.variants;
  const ReportLine line = line_of(ablation);
  PageSection section{.id = id,
                      .title = fmt::format("Ablation of {} · {} · {}", line.workload,
                                           line.started_at.substr(0, 10), line.status)};
  section.tone = line.tone;
  section.paragraphs.push_back(how_measured(ablation.result));
  section.facts = common_facts(ablation.result, ablation.file);
  for (const LeftOut& item : ablation.result.left_out) {
    section.facts.push_back({"left out", printable(item.name, 60) + ": " + printable(item.reason)});
  }
  for (const Variant& variant : variants) {
    if (!variant.peer) continue;
    section.facts.push_back(
        {"peer", printable(variant.name, 60) + ": " + printable(variant.peer->command, 400)});
  }
  if (!variants.empty()) {
    section.plots = {waterfall(variants), ratios(variants)};
    if (const auto plot = phases(variants)) section.plots.push_back(*plot);
    section.plots.push_back(turns(variants));
  }
  section.tables.push_back(variants_table(variants));
  PageTable table = phases_table(variants);
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

}  // namespace harness
