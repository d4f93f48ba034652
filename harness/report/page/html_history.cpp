#include "harness/report/page/html_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/base/text.hpp"
#include "harness/compare/occasions.hpp"
#include "harness/compare/set_up.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/html_groups.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/stats/change_points.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostHistories = 60;
/// Of all histories of a report together, however many they are.
constexpr double kFalseAlarms = 0.05;
/// A change this small is not worth a word, however sure it is.
constexpr double kLeastChange = 0.01;

struct HistoryRun {
  std::size_t place = 0;  ///< in ReportData::runs
  double median = 0;
};

/// The runs of one night are one value: they saw one state of the machine.
struct Night {
  std::vector<HistoryRun> runs{};  ///< by their start
  Interval median{};               ///< of the runs' medians, from the lowest to the highest
};

/// Runs that did the same work in the same way, by one metric.
struct History {
  std::string title{};
  SetUp shared{};
  Metric metric{};  ///< without samples
  std::vector<HistoryRun> runs{};
  std::vector<Night> nights{};
};

std::vector<Night> nights_of(const std::vector<HistoryRun>& runs, const ReportData& data) {
  std::vector<const Result*> results;
  for (const HistoryRun& run : runs) results.push_back(&as<Result>(data.runs()[run.place]));
  const std::vector<std::size_t> occasions = occasions_of(results, kNightSeconds);
  std::vector<Night> nights(count_occasions(occasions));
  for (std::size_t i = 0; i < runs.size(); ++i) nights[occasions[i]].runs.push_back(runs[i]);
  for (Night& night : nights) {
    std::vector<double> medians;
    for (const HistoryRun& run : night.runs) medians.push_back(run.median);
    night.median.center = median(medians);
    if (medians.size() < 2) continue;
    const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
    night.median.low = *low;
    night.median.high = *high;
  }
  return nights;
}

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
  for (std::size_t i = 0; i < data.runs().size(); ++i) {
    const ReportItem& run = data.runs()[i];
    const Result& result = as<Result>(run);
    const Metric* metric = headline_metric(result);
    if (!is_measurement(run) || metric == nullptr) continue;
    const Interval& median = *metric->summary.median;
    if (!(median.center > 0 && median.center <= kLargestPlotted)) continue;
    const RulesReference& rules = result.rules;
    SetUp work = work_of(result);
    History& history = found[{rules.workload, rules.version, work, metric->tag}];
    if (history.runs.empty()) {
      const ReportLine line = line_of(run);
      history.title = fmt::format("{} · {} · {} · machine {}", line.workload, line.tier, line.stack,
                                  line.machine);
      history.shared = std::move(work);
      history.metric.tag = metric->tag;
      history.metric.unit = metric->unit;
      history.metric.direction = metric->direction;
    }
    history.runs.push_back({i, median.center});
  }
  std::vector<History> histories;
  for (auto& [key, history] : found) {
    history.nights = nights_of(history.runs, data);
    const std::size_t there = history.nights.size();
    if (there < 2) continue;
    const std::size_t extra = there - std::min(there, kLongestHistory);
    history.nights.erase(history.nights.begin(),
                         history.nights.begin() + static_cast<std::ptrdiff_t>(extra));
    histories.push_back(std::move(history));
  }
  std::stable_sort(histories.begin(), histories.end(), [](const History& a, const History& b) {
    return a.nights.size() > b.nights.size();
  });
  return histories;
}

std::vector<ChangePoint> changes_of(const History& history, double level) {
  std::vector<double> logarithms;
  for (const Night& night : history.nights) logarithms.push_back(std::log(night.median.center));
  return change_points(logarithms, level, std::log1p(kLeastChange));
}

std::string percent(double logarithm) {
  return fmt::format("{:+.1f} %", 100 * std::expm1(logarithm));
}

const Result& first_run(const Night& night, const ReportData& data) {
  return as<Result>(data.runs()[night.runs.front().place]);
}

const Result& last_run(const Night& night, const ReportData& data) {
  return as<Result>(data.runs()[night.runs.back().place]);
}

std::string change_text(const History& history, const ChangePoint& change, const ReportData& data) {
  const Result& before = last_run(history.nights[change.index - 1], data);
  const Result& after = first_run(history.nights[change.index], data);
  const bool lower_is_better = history.metric.direction != Direction::kHigher;
  const bool better = (change.shift < 0) == lower_is_better;
  return fmt::format("From {} on {} {} ({}): commit {} before, {} after.",
                     printable(after.identity.started_at, 24),
                     printable(history.metric.tag, kNameBytes), percent(change.shift),
                     better ? "better" : "worse", commit_of(before.identity),
                     commit_of(after.identity));
}

PagePlot plot_of(const History& history, const std::vector<ChangePoint>& changes,
                 const ReportData& data) {
  double largest = 0;
  for (const Night& night : history.nights) {
    largest = std::max(largest, night.median.high.value_or(night.median.center));
  }
  const PlotUnit unit = plot_unit(largest, history.metric.unit);
  PagePlot plot{.title = "History of " + printable(history.metric.tag, kNameBytes)};
  plot.x.label = "nights";
  plot.y.label = "median of a night's runs" + (unit.label.empty() ? "" : ", " + unit.label);
  PlotSeries series{printable(history.metric.tag, kNameBytes), PlotStyle::kLine, 0, {}};
  for (std::size_t i = 0; i < history.nights.size(); ++i) {
    const std::vector<HistoryRun>& runs = history.nights[i].runs;
    const ReportLine line = line_of(data.runs()[runs.front().place]);
    const Interval& median = history.nights[i].median;
    plot.x.names.push_back(line.started_at.substr(0, 10));
    PlotPoint point{static_cast<double>(i), plotted(median.center * unit.factor)};
    set_bounds(point, median, unit.factor);
    point.label = fmt::format("{} · commit {} · {}", line.started_at, line.commit, line.status);
    if (runs.size() > 1) {
      point.label +=
          fmt::format(" · {} from lowest to highest", format_count(std::ssize(runs), "run"));
    }
    series.points.push_back(std::move(point));
  }
  plot.series.push_back(std::move(series));
  for (const ChangePoint& change : changes) {
    const Result& after = first_run(history.nights[change.index], data);
    plot.marks.push_back({static_cast<double>(change.index) - 0.5,
                          commit_of(after.identity) + " " + percent(change.shift), false});
  }
  plot.description = fmt::format("{}, {}.", format_count(std::ssize(history.nights), "night"),
                                 format_count(std::ssize(changes), "change") + " of level");
  return plot;
}

PageTable table_of(const History& history, const ReportData& data) {
  PageTable table{.caption = "Runs of this history"};
  table.columns = {{"started (UTC)"}, {"night", true}, {"commit"},
                   {"median", true},  {"status"},      {"file"}};
  for (std::size_t i = 0; i < history.nights.size(); ++i) {
    for (const HistoryRun& run : history.nights[i].runs) {
      const ReportLine line = line_of(data.runs()[run.place]);
      table.rows.push_back({{line.started_at, {}, Tone::kPlain, section_id(data, "run", run.place)},
                            count_cell(i + 1),
                            {line.commit},
                            {format_quantity(run.median, history.metric.unit), run.median},
                            {line.status, {}, line.tone},
                            {line.file}});
    }
  }
  return table;
}

}  // namespace

PageSection history_section(const ReportData& data) {
  PageSection section{.id = "history", .title = "History"};
  const std::vector<History> histories = histories_of(data);
  const auto tested = std::count_if(histories.begin(), histories.end(), [](const History& one) {
    return one.nights.size() >= 2 * kChangeSide;
  });
  section.paragraphs.push_back(fmt::format(
      "A history is the same work with the same settings on the same machine. The runs of one "
      "night "
      "(of one series, or begun within {:g} hours) count once, by their median. With at least {} "
      "nights, changes of level are looked for in the logarithms of these medians. If nothing "
      "changed, the chance of any mark in this report is at most {:.0f} %, also where a night "
      "resembles the one before (autocorrelation up to {:g}). Changes below {:.0f} % are not "
      "marked. A machine that drifts for weeks shows up as a change too.",
      kNightSeconds / 3600, 2 * kChangeSide, 100 * kFalseAlarms, kHistoryCorrelation,
      100 * kLeastChange));
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
