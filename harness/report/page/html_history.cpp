#include "harness/report/page/html_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/base/text.hpp"
#include "harness/compare/set_up.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/html_groups.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/stats/change_points.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostHistories = 60;
/// Of all histories of a report together, however many they are.
constexpr double kFalseAlarms = 0.05;
/// A change this small is not worth a word, however sure it is.
constexpr double kLeastChange = 0.01;

struct Point {
  std::size_t run = 0;  ///< place in ReportData::runs
  Interval median{};
};

/// Runs that did the same work in the same way, by one metric.
struct History {
  std::string title{};
  SetUp shared{};
  Metric metric{};  ///< without samples
  std::vector<Point> points{};
};

/// What may change from night to night without making it other work.
SetUp work_of(const Result& run) {
  SetUp set_up = set_up_of(run);
  std::erase_if(set_up, [](const auto& fact) {
    return fact.first == "governor" || fact.first.starts_with("software ") ||
           part_of(fact.first) == SetUpPart::kExempt;
  });
  return set_up;
}

std::vector<History> histories_of(const ReportData& data) {
  using Key = std::tuple<std::string, std::string, SetUp, std::string>;
  std::map<Key, History> found;
  for (std::size_t i = 0; i < data.runs.size(); ++i) {
    const ReportRun& run = data.runs[i];
    const Metric* metric = headline_metric(run.result);
    if (!is_measurement(run) || metric == nullptr) continue;
    const Interval& median = *metric->summary.median;
    if (!(median.center > 0 && median.center <= kLargestPlotted)) continue;
    const RulesReference& rules = run.result.rules;
    SetUp work = work_of(run.result);
    History& history = found[{rules.workload, rules.version, work, metric->tag}];
    if (history.points.empty()) {
      const ReportLine line = line_of(run);
      history.title = fmt::format("{} · {} · {} · machine {}", line.workload, line.tier, line.stack,
                                  line.machine);
      history.shared = std::move(work);
      history.metric.tag = metric->tag;
      history.metric.unit = metric->unit;
      history.metric.direction = metric->direction;
    }
    history.points.push_back({i, median});
  }
  std::vector<History> histories;
  for (auto& [key, history] : found) {
    if (history.points.size() < 2) continue;
    const std::size_t extra =
        history.points.size() - std::min(history.points.size(), kLongestHistory);
    history.points.erase(history.points.begin(),
                         history.points.begin() + static_cast<std::ptrdiff_t>(extra));
    histories.push_back(std::move(history));
  }
  std::stable_sort(histories.begin(), histories.end(), [](const History& a, const History& b) {
    return a.points.size() > b.points.size();
  });
  return histories;
}

std::vector<ChangePoint> changes_of(const History& history, double level) {
  std::vector<double> logarithms;
  for (const Point& point : history.points) logarithms.push_back(std::log(point.median.center));
  return change_points(logarithms, level, std::log1p(kLeastChange));
}

std::string percent(double logarithm) {
  return fmt::format("{:+.1f} %", 100 * std::expm1(logarithm));
}

std::string change_text(const History& history, const ChangePoint& change, const ReportData& data) {
  const Result& before = data.runs[history.points[change.index - 1].run].result;
  const Result& after = data.runs[history.points[change.index].run].result;
  const bool lower_is_better = history.metric.direction != Direction::kHigher;
  const bool better = (change.shift.center < 0) == lower_is_better;
  std::string text =
      fmt::format("From {} on {} {}", printable(after.identity.started_at, 24),
                  printable(history.metric.tag, kNameBytes), percent(change.shift.center));
  if (change.shift.low && change.shift.high) {
    text += fmt::format(" [{}, {}]", percent(*change.shift.low), percent(*change.shift.high));
  }
  return text + fmt::format(" ({}): commit {} before, {} after.", better ? "better" : "worse",
                            commit_of(before.identity), commit_of(after.identity));
}

PagePlot plot_of(const History& history, const std::vector<ChangePoint>& changes,
                 const ReportData& data) {
  double largest = 0;
  for (const Point& point : history.points) largest = std::max(largest, point.median.center);
  const PlotUnit unit = plot_unit(largest, history.metric.unit);
  PagePlot plot{.title = "History of " + printable(history.metric.tag, kNameBytes)};
  plot.x.label = "runs, by their start";
  plot.y.label = "median of a run" + (unit.label.empty() ? "" : ", " + unit.label);
  PlotSeries series{printable(history.metric.tag, kNameBytes), PlotStyle::kLine, 0, {}};
  for (std::size_t i = 0; i < history.points.size(); ++i) {
    const ReportLine line = line_of(data.runs[history.points[i].run]);
    const Interval& median = history.points[i].median;
    plot.x.names.push_back(line.started_at.substr(0, 10));
    PlotPoint point{static_cast<double>(i), plotted(median.center * unit.factor)};
    if (median.low && median.high && std::abs(*median.low) <= kLargestPlotted &&
        *median.high <= kLargestPlotted) {
      point.low = plotted(*median.low * unit.factor);
      point.high = plotted(*median.high * unit.factor);
    }
    point.label = fmt::format("{} · commit {} · {}", line.started_at, line.commit, line.status);
    series.points.push_back(std::move(point));
  }
  plot.series.push_back(std::move(series));
  for (const ChangePoint& change : changes) {
    const Result& after = data.runs[history.points[change.index].run].result;
    plot.marks.push_back({static_cast<double>(change.index) - 0.5,
                          commit_of(after.identity) + " " + percent(change.shift.center), false});
  }
  plot.description = fmt::format("{}, {}.", format_count(std::ssize(history.points), "run"),
                                 format_count(std::ssize(changes), "change") + " of level");
  return plot;
}

PageTable table_of(const History& history, const ReportData& data) {
  PageTable table{.caption = "Runs of this history"};
  table.columns = {{"started (UTC)"}, {"commit"}, {"median [95 %]", true}, {"status"}, {"file"}};
  for (const Point& point : history.points) {
    const ReportLine line = line_of(data.runs[point.run]);
    table.rows.push_back({{line.started_at, {}, Tone::kPlain, run_id(data, point.run)},
                          {line.commit},
                          {with_interval(point.median, history.metric.unit), point.median.center},
                          {line.status, {}, line.tone},
                          {line.file}});
  }
  return table;
}

}  // namespace

PageSection history_section(const ReportData& data) {
  PageSection section{.id = "history", .title = "History"};
  const std::vector<History> histories = histories_of(data);
  const auto tested = std::count_if(histories.begin(), histories.end(), [](const History& one) {
    return one.points.size() >= 2 * kChangeSide;
  });
  section.paragraphs.push_back(fmt::format(
      "A history is the same work with the same settings on the same machine. With at least {} "
      "runs, changes of level are looked for by rank sums in the logarithms of the medians. If "
      "nothing changed, the chance of any mark in this report is at most {:.0f} %. Changes below "
      "{:.0f} % are not marked. A machine that drifts shows up as a change too.",
      2 * kChangeSide, 100 * kFalseAlarms, 100 * kLeastChange));
  for (const History& history : histories) {
    if (section.parts.size() >= kMostHistories) {
      section.paragraphs.push_back(fmt::format("Only the {} longest of {} histories are shown.",
                                               kMostHistories, histories.size()));
      break;
    }
    const std::vector<ChangePoint> changes = changes_of(
        history, kFalseAlarms / static_cast<double>(std::max<std::ptrdiff_t>(tested, 1)));
    PageSection part;
    part.id = fmt::format("history-{}", section.parts.size() + 1);
    part.title = history.title;
    for (const ChangePoint& change : changes) {
      part.paragraphs.push_back(change_text(history, change, data));
    }
    std::vector<std::string> shared;
    for (const auto& [name, value] : history.shared) {
      if (value != "null") shared.push_back(printable(name, 40) + " " + printable(value, 40));
    }
    part.facts = {{"shared by all", join(shared, " · ")}};
    part.plots.push_back(plot_of(history, changes, data));
    part.tables.push_back(table_of(history, data));
    section.parts.push_back(std::move(part));
  }
  return section;
}

}  // namespace harness
