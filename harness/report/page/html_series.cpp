#include "harness/report/page/html_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/text.hpp"
#include "harness/compare/comparison.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/html_groups.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/text/comparison_text.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostSides = 12;

std::vector<Side> sides_of(const ReportData& data, const WorkGroup& group) {
  std::vector<SetUp> set_ups;
  for (const auto& [set_up, places] : group.set_ups) set_ups.push_back(set_up);
  const std::vector<std::string> names = set_up_names(set_ups);
  std::vector<Side> sides;
  for (std::size_t i = 0; i < std::min(group.set_ups.size(), kMostSides); ++i) {
    const RunPlaces& places = group.set_ups[i].second;
    Side side{names[i], {}};
    const std::size_t count = std::min(places.size(), kMostUnpaired);
    for (std::size_t k = places.size() - count; k < places.size(); ++k) {
      side.runs.push_back(as<Result>(data.runs()[places[k]]));
    }
    sides.push_back(std::move(side));
  }
  return sides;
}

std::string number(double value, const std::string& unit, bool is_factor) {
  return is_factor ? fmt::format("{:.4g}", value) : format_quantity(value, unit);
}

std::string change_text(const Interval& change, const ComparedRow& row) {
  std::string center = number(change.center, row.unit, row.is_factor);
  if (!change.low || !change.high) return center;
  return fmt::format("{} [{}, {}]", center, number(*change.low, row.unit, row.is_factor),
                     number(*change.high, row.unit, row.is_factor));
}

void add_rows(PageTable& table, const Comparison& comparison,
              const std::vector<ComparedRow>& rows) {
  for (const ComparedRow& row : rows) {
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      PageCell value{"none"};
      if (row.values[i]) value = {with_interval(*row.values[i], row.unit), row.values[i]->center};
      PageCell change{"-"};
      PageCell word{i == 0 ? "first" : "-"};
      if (i < row.changes.size() && row.changes[i]) {
        change = {(row.is_factor ? "× " : "") + change_text(*row.changes[i], row),
                  row.changes[i]->center};
        word = {change_word(*row.changes[i], row.is_factor)};
        if (word.text == "differs") word.tone = Tone::kDoubt;
      }
      const auto note = row.notes.find(i);
      table.rows.push_back({{printable(row.name, kNameBytes)},
                            {comparison.names[i]},
                            count_cell(comparison.runs[i]),
                            count_cell(comparison.hours[i]),
                            value,
                            change,
                            word,
                            {note == row.notes.end() ? "" : printable(note->second)}});
    }
  }
}

PageTable table_of(const Comparison& comparison) {
  PageTable table{.caption = "Medians over the hours, and the change from the first set-up"};
  table.columns = {
      {"quantity"},     {"set-up"},  {"runs", true}, {"hours", true}, {"median [95 %]", true},
      {"change", true}, {"verdict"}, {"note"}};
  add_rows(table, comparison, comparison.convergence);
  add_rows(table, comparison, comparison.rows);
  limit_rows(table);
  return table;
}

/// Factors against the first side, a row each.
PagePlot factors_plot(const Comparison& comparison) {
  constexpr std::size_t kMostFactors = 30;
  PagePlot plot{.title = "Change against " + comparison.names.front()};
  plot.x.label = "ratio to the first set-up [95 % interval]";
  plot.marks.push_back({1, "no change", false});
  for (std::size_t i = 1; i < comparison.names.size(); ++i) {
    plot.series.push_back({comparison.names[i], PlotStyle::kPoints, i - 1, {}});
  }
  const double others = static_cast<double>(plot.series.size());
  for (const ComparedRow& row : comparison.rows) {
    if (!row.is_factor || plot.y.names.size() >= kMostFactors) continue;
    const auto place = static_cast<double>(plot.y.names.size());
    bool any = false;
    for (std::size_t i = 1; i < row.changes.size(); ++i) {
      const auto& change = row.changes[i];
      if (!change || !(change->center <= kLargestPlotted)) continue;
      const double offset = 0.6 * ((static_cast<double>(i) - 0.5) / others - 0.5);
      PlotPoint point{plotted(change->center), place + offset};
      set_bounds(point, *change);
      point.label = fmt::format("{}, {}: × {}", printable(row.name, kNameBytes),
                                comparison.names[i], change_text(*change, row));
      plot.series[i - 1].points.push_back(point);
      any = true;
    }
    if (any) plot.y.names.push_back(printable(row.name, kNameBytes));
  }
  drop_empty_series(plot);
  plot.description =
      "Each point is the ratio of a set-up's value to that of the first set-up. An interval needs "
      "runs from at least six hours on each side. The table lists the numbers.";
  return plot;
}

/// Every run of every set-up, by the metric that the first one is told by.
std::optional<PagePlot> strip_plot(const std::vector<Side>& sides) {
  const Metric* headline = headline_metric(sides.front().runs.front());
  if (headline == nullptr) return std::nullopt;
  double largest = 0;
  std::vector<std::vector<std::pair<double, const Result*>>> values(sides.size());
  for (std::size_t i = 0; i < sides.size(); ++i) {
    for (const Result& run : sides[i].runs) {
      for (const Metric& metric : run.metrics) {
        if (metric.tag != headline->tag || !metric.summary.median) continue;
        const double value = metric.summary.median->center;
        if (!(std::abs(value) <= kLargestPlotted)) continue;
        values[i].emplace_back(value, &run);
        largest = std::max(largest, std::abs(value));
      }
    }
  }
  const PlotUnit unit = plot_unit(largest, headline->unit);
  PagePlot plot{.title = "Every run, by set-up"};
  plot.x.label = printable(headline->tag, kNameBytes) + ", median of a run" +
                 (unit.label.empty() ? "" : ", " + unit.label);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    plot.y.names.push_back(sides[i].name);
    PlotSeries series{sides[i].name, PlotStyle::kPoints, i, {}};
    for (const auto& [value, run] : values[i]) {
      series.points.push_back(
          {plotted(value * unit.factor),
           static_cast<double>(i),
           {},
           {},
           fmt::format("{}, seed {}", printable(run->identity.started_at, 24), run->seeds.run)});
    }
    plot.series.push_back(std::move(series));
  }
  plot.description =
      "One point per run: how far set-ups lie apart, and how far runs of one set-up do.";
  return plot;
}

PageSection compare_group(const ReportData& data, const WorkGroup& group) {
  PageSection section;
  section.title = group.title;
  const std::vector<Side> sides = sides_of(data, group);
  try {
    const Comparison comparison = compare_sides(sides, std::nullopt);
    if (const auto plot = strip_plot(sides)) section.plots.push_back(*plot);
    PagePlot factors = factors_plot(comparison);
    if (!factors.series.empty()) section.plots.push_back(std::move(factors));
    section.tables.push_back(table_of(comparison));
    section.tables.back().note = printable(comparison.missing, 2000);
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (comparison.doubts[i].empty()) continue;
      section.facts.push_back({comparison.names[i], comparison.doubts[i], Tone::kDoubt});
    }
  } catch (const Error& error) {
    section.paragraphs.emplace_back(printable(error.what(), 600));
  }
  if (group.set_ups.size() > sides.size()) {
    section.paragraphs.push_back(fmt::format("Only the first {} of {} set-ups are compared.",
                                             sides.size(), group.set_ups.size()));
  }
  return section;
}

}  // namespace

PageSection series_section(const ReportData& data) {
  PageSection section{.id = "series", .title = "Set-ups side by side"};
  section.paragraphs = {
      "These runs share workload, rules, tier and machine and differ in their set-up. Their seeds "
      "may differ too. On a machine that drifts, runs an hour apart differ even if the program is "
      "the same, so runs of one series, and of series that began within an hour, count once "
      "(epochs "
      "and quality count by seed instead). A change is the median of all ratios between an hour of "
      "one side and an hour of the other (Hodges and Lehmann), with an exact interval (Mann and "
      "Whitney) from six hours a side on."};
  for (const WorkGroup& group : group_runs(data)) {
    if (group.set_ups.size() < 2) continue;
    PageSection part = compare_group(data, group);
    part.id = fmt::format("series-{}", section.parts.size() + 1);
    section.parts.push_back(std::move(part));
  }
  return section;
}

}  // namespace harness
