#include "harness/report/page/html_profile_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/profile_difference.hpp"
#include "harness/report/profile_tree.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostBars = 14;

std::string signed_time(double seconds) {
  const std::string text = format_quantity(std::abs(seconds), "s");
  return seconds == 0 ? text : (seconds > 0 ? "+" : "-") + text;
}

std::string name_of(const DifferenceRow& row) {
  std::string name = row.name.empty() ? "(no module)" : spoken_operator(row.name);
  if (!row.detail.empty()) name += ", " + row.detail;
  return printable(name, 2 * kNameBytes);
}

/// What is lost and what is saved, to either side of 0.
PagePlot changes_plot(const char* title, const std::vector<DifferenceRow>& rows,
                      bool wide = false) {
  PagePlot plot;
  plot.wide = wide;
  plot.title = title;
  const double largest = rows.empty() ? 0 : std::abs(rows.front().change());
  const PlotUnit unit = plot_unit(largest, "s");
  plot.x = {"change of a step, " + unit.label, false, {}, true};
  PlotSeries longer{"takes longer", PlotStyle::kBars, kBadColour, {}};
  PlotSeries shorter{"takes less", PlotStyle::kBars, kGoodColour, {}};
  for (const DifferenceRow& row : rows) {
    if (plot.y.names.size() == kMostBars) break;
    const double change = row.change();
    if (std::abs(change) < 0.002 * largest) continue;
    PlotSeries& series = change > 0 ? longer : shorter;
    std::string label = signed_time(change);
    if (!row.first_seconds) label += ", new";
    if (!row.other_seconds) label += ", gone";
    series.points.push_back(
        {plotted(change * unit.factor), static_cast<double>(plot.y.names.size()), {}, {}, label});
    plot.y.names.push_back(name_of(row));
  }
  plot.series = {longer, shorter};
  drop_empty_series(plot);
  plot.description = "The largest changes, in either direction. The table lists all of them.";
  return plot;
}

PagePlot work_plot(const ProfileDifference& difference, const std::string& first,
                   const std::string& other) {
  PagePlot plot{.title = "Primitives by what they compute"};
  plot.wide = true;
  plot.paired = true;
  double longest = 0;
  for (const DifferenceRow& row : difference.work) {
    longest = std::max({longest, row.first_seconds.value_or(0), row.other_seconds.value_or(0)});
  }
  const PlotUnit unit = plot_unit(longest, "s");
  plot.x = {"time in a step, " + unit.label, false, {}, true};
  PlotSeries before{first, PlotStyle::kBars, 7, {}};
  PlotSeries after{other, PlotStyle::kBars, 0, {}};
  for (const DifferenceRow& row : difference.work) {
    if (plot.y.names.size() == kMostBars) break;
    const auto place = static_cast<double>(plot.y.names.size());
    const auto add = [&](PlotSeries& series, const std::optional<double>& seconds, double calls) {
      if (!seconds) return;
      series.points.push_back({plotted(*seconds * unit.factor),
                               place,
                               {},
                               {},
                               fmt::format("{}, {:.4g} call{}", format_quantity(*seconds, "s"),
                                           calls, calls == 1 ? "" : "s")});
    };
    add(before, row.first_seconds, row.first_calls);
    add(after, row.other_seconds, row.other_calls);
    plot.y.names.push_back(name_of(row));
  }
  plot.series = {before, after};
  plot.description =
      "Grouped by kind, direction and type, whichever implementation oneDNN chose. The kernels of "
      "this project are among them.";
  return plot;
}

PageCell share_cell(const std::optional<double>& seconds, double step) {
  if (!seconds || step <= 0) return {"-"};
  const double share = 100 * *seconds / step;
  return {fmt::format("{:.1f} %", share), share};
}

PageCell calls_cell(double calls) { return {fmt::format("{:.4g}", calls), calls}; }

struct ChangesTable {
  const char* caption;
  const char* name;
  const char* detail;  // nullptr: rows have none
};

PageTable changes_table(const ChangesTable& kind, const std::vector<DifferenceRow>& rows,
                        const ProfileSide& first, const ProfileSide& other) {
  const double first_step = first.tables().step_seconds;
  const double other_step = other.tables().step_seconds;
  const double step_change = other_step - first_step;
  PageTable table{.caption = kind.caption};
  table.columns = {{kind.name}};
  if (kind.detail != nullptr) table.columns.push_back({kind.detail});
  const std::vector<PageColumn> numbers = {
      {"change", true},      {"share of change", true}, {first.name, true},
      {other.name, true},    {"ratio", true},           {"share before", true},
      {"share after", true}, {"calls before", true},    {"calls after", true}};
  table.columns.insert(table.columns.end(), numbers.begin(), numbers.end());
  for (const DifferenceRow& row : rows) {
    if (table.rows.size() == kMostRows) break;
    std::vector<PageCell> cells = {
        {row.name.empty() ? "-" : printable(spoken_operator(row.name), 120)}};
    if (kind.detail != nullptr) {
      cells.push_back({row.detail.empty() ? "-" : printable(row.detail, 100)});
    }
    cells.push_back({signed_time(row.change()), row.change()});
    const double share = step_change != 0 ? 100 * row.change() / step_change : 0;
    cells.push_back(step_change != 0 ? PageCell{fmt::format("{:.1f} %", share), share}
                                     : PageCell{"-"});
    cells.push_back(quantity_cell(row.first_seconds, "s"));
    cells.push_back(quantity_cell(row.other_seconds, "s"));
    const bool both = row.first_seconds.value_or(0) > 0 && row.other_seconds;
    const double times = both ? *row.other_seconds / *row.first_seconds : 0;
    cells.push_back(both ? PageCell{fmt::format("{:.3g}", times), times}
                         : PageCell{row.first_seconds ? "gone" : "new"});
    cells.push_back(share_cell(row.first_seconds, first_step));
    cells.push_back(share_cell(row.other_seconds, other_step));
    cells.push_back(calls_cell(row.first_calls));
    cells.push_back(calls_cell(row.other_calls));
    table.rows.push_back(std::move(cells));
  }
  if (rows.size() > table.rows.size()) {
    table.note =
        fmt::format("Only the first {} of {} rows are shown.", table.rows.size(), rows.size());
  }
  return table;
}

/// What is not the same of the two, by name.
std::vector<PageFact> set_up_facts(const ProfileSide& first, const ProfileSide& other) {
  std::vector<PageFact> facts;
  for (const auto& [name, value] : first.set_up) {
    const auto found = other.set_up.find(name);
    const std::string theirs = found == other.set_up.end() ? "none" : found->second;
    if (theirs != value) {
      facts.push_back({printable(name, 60), printable(value, 90) + " → " + printable(theirs, 90)});
    }
  }
  for (const auto& [name, value] : other.set_up) {
    if (first.set_up.count(name) == 0) {
      facts.push_back({printable(name, 60), "none → " + printable(value, 90)});
    }
  }
  for (const ProfileSide* side : {&first, &other}) {
    if (!side->profile().status.mistrusted) continue;
    facts.push_back(
        {"mistrusted",
         side->name + ": the machine was not fit to measure on (its own section says why)",
         Tone::kDoubt});
  }
  return facts;
}

}  // namespace

PageSection profile_pair_section(const ProfileSide& first, const ProfileSide& other,
                                 const std::string& id) {
  const ProfileDifference difference = difference_of(first.tables(), other.tables());
  const double change = difference.other_step - difference.first_step;
  PageSection section{.id = id, .title = fmt::format("{} against {}", other.name, first.name)};
  section.paragraphs.push_back(fmt::format(
      "A recorded step takes {} instead of {}: {}, {:.3f} times as long. The changes by part, by "
      "module and by operator each add up to that. One profile on each side says nothing about the "
      "spread between runs.",
      format_quantity(difference.other_step, "s"), format_quantity(difference.first_step, "s"),
      signed_time(change), difference.other_step / difference.first_step));
  section.facts = set_up_facts(first, other);
  for (PagePlot& plot :
       std::vector<PagePlot>{changes_plot("Change by part of the model", difference.parts),
                             changes_plot("Change by operator", difference.operators),
                             changes_plot("Change by module and phase", difference.modules, true),
                             work_plot(difference, first.name, other.name)}) {
    if (!plot.y.names.empty()) section.plots.push_back(std::move(plot));
  }
  const auto add = [&](const ChangesTable& kind, const std::vector<DifferenceRow>& rows) {
    if (!rows.empty()) section.tables.push_back(changes_table(kind, rows, first, other));
  };
  add({"Change by part of the model", "part", nullptr}, difference.parts);
  add({"Change by operator", "operator", nullptr}, difference.operators);
  add({"Change by module and phase", "module", "phase"}, difference.modules);
  add({"Change by primitive", "primitive", "implementation"}, difference.primitives);
  return section;
}

}  // namespace harness
