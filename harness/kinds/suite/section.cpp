#include "harness/kinds/suite/section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/kinds/suite/lines.hpp"
#include "harness/kinds/suite/trust.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/text/loadgen_text.hpp"
#include "harness/report/thinning.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

constexpr double kFarTail = 10;  ///< the longest latency over the shortest

/// A run that was stopped or failed broke no rule: it is not complete.
std::string shown_state(const SuiteTask& task) {
  const bool aborted = task.run && task.run->state == RunState::kAborted;
  const std::string state = state_text(task);
  return aborted && state == to_text(RunState::kAborted) ? "not complete" : state;
}

std::string number_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

PageCell ratio_cell(const std::optional<double>& ratio) {
  return ratio ? PageCell{ratio_text({*ratio, {}, {}, 0}), *ratio} : PageCell{"-"};
}

PageTable tasks_table(const std::vector<SuiteTask>& tasks) {
  PageTable table{.caption = "Each task in each scenario"};
  table.columns = {{"task"},          {"scenario"},        {"figure"},
                   {"value", true},   {"reference", true}, {"x reference", true},
                   {"quality", true}, {"target", true},    {"state"}};
  for (const SuiteTask& task : tasks) {
    const std::string unit = task.figure ? printable(task.figure->unit, 24) : "";
    PageCell quality{"-"};
    PageCell target{"-"};
    if (task.quality) {
      quality = {printable(task.quality->metric, 24) + " " + number_text(task.quality->value),
                 task.quality->value};
      target = {number_text(task.quality->target), task.quality->target};
    }
    table.rows.push_back(
        {{printable(task.workload, kNameBytes)},
         {printable(task.scenario, kNameBytes)},
         {task.figure ? printable(task.figure->tag, 40) : "-"},
         quantity_cell(task.figure ? std::optional(task.figure->value) : std::nullopt, unit),
         quantity_cell(task.reference, unit),
         ratio_cell(task.ratio),
         quality,
         target,
         {shown_state(task), {}, tone_of(task)}});
  }
  return table;
}

/// The tasks that count, as bars that start at 1.
PagePlot ratios_plot(const Suite& suite) {
  PagePlot plot{.title = "Times faster than the reference"};
  plot.description =
      "A bar for each task and scenario that counts in the score; 1 is as fast as the reference.";
  plot.x.label = "times faster";
  plot.x.from_zero = true;
  PlotSeries& bars = plot.series.emplace_back();
  bars.name = "ratio";
  bars.style = PlotStyle::kBars;
  for (const SuiteTask& task : suite.tasks) {
    if (!task.ratio || !(*task.ratio <= kLargestPlotted)) continue;
    bars.points.push_back({plotted(*task.ratio),
                           static_cast<double>(plot.y.names.size()),
                           {},
                           {},
                           ratio_text({*task.ratio, {}, {}, 0})});
    plot.y.names.push_back(printable(name_of(task), kNameBytes));
  }
  plot.marks.push_back({1, "reference"});
  if (suite.score.value && *suite.score.value <= kLargestPlotted) {
    plot.marks.push_back(
        {plotted(*suite.score.value), "score " + ratio_text({*suite.score.value, {}, {}, 0})});
  }
  drop_empty_series(plot);
  return plot;
}

/// "p99.9"
std::string percentile_name(double percentile) {
  if (percentile <= 0) return "least";
  return percentile >= 100 ? "most" : fmt::format("p{:g}", percentile);
}

PagePlot latency_plot(const SuiteTask& task, const std::vector<LatencyPoint>& points) {
  const auto [least, most] =
      std::minmax_element(points.begin(), points.end(),
                          [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  const PlotUnit unit = plot_unit(most->seconds, "s");
  PagePlot plot{.title = "Latency, " + printable(task.scenario, kNameBytes)};
  plot.x.label = "percentile of the queries";
  plot.y.label = "latency" + (unit.label.empty() ? "" : ", " + unit.label);
  // Where the tail is far away, all else would lie on the axis.
  plot.y.logarithmic = least->seconds > 0 && most->seconds > kFarTail * least->seconds;
  plot.y.from_zero = !plot.y.logarithmic;
  PlotSeries& line = plot.series.emplace_back();
  line.name = printable(task.scenario, kNameBytes);
  std::vector<std::string> said;
  for (const LatencyPoint& point : points) {
    const std::string name = percentile_name(point.percentile);
    line.points.push_back({static_cast<double>(plot.x.names.size()),
                           plotted(point.seconds * unit.factor),
                           {},
                           {},
                           name + " " + format_quantity(point.seconds, "s")});
    plot.x.names.push_back(name);
    said.push_back(line.points.back().label);
  }
  plot.description = "Latency by percentile: " + join(said, ", ") + ".";
  if (task.figure && task.figure->unit == "s") {
    plot.description +=
        " " + printable(task.figure->tag, kNameBytes) +
        " is LoadGen's estimate of its percentile by early stopping, never below it.";
  }
  return plot;
}

/// Why `task`'s run is mistrusted, the first reason alone: its own section has all.
std::string mistrust_text(const SuiteTask& task, const Result* run) {
  if (run == nullptr) return "mistrusted, " + printable(task.run->file, 60) + " says why";
  const std::vector<std::string>& reasons = run->status.mistrust_reasons;
  if (reasons.empty()) return "mistrusted";
  const std::string more =
      reasons.size() == 1 ? "" : fmt::format(" and {} more", reasons.size() - 1);
  return "mistrusted: " + printable(reasons.front(), 120) + more;
}

void add_scenario(PageSection& card, const SuiteTask& task, const std::vector<ReportItem>& runs) {
  const Tone tone = tone_of(task);
  const ReportItem* item = run_of(task, runs);
  const Result* run = item == nullptr ? nullptr : &as<Result>(*item);
  std::vector<std::string> parts;
  if (task.figure) parts.push_back(figure_text(*task.figure));
  if (task.ratio) {
    parts.push_back(fmt::format("{} x the reference", ratio_text({*task.ratio, {}, {}, 0})));
  }
  const std::string state = shown_state(task);
  if (state == "mistrusted") {
    parts.push_back(mistrust_text(task, run));
  } else if (tone != Tone::kGood || !task.figure) {
    parts.push_back(state + (task.run ? "" : ": " + printable(task.no_run)));
  }
  if (run != nullptr) parts.push_back(set_up_text(*run));
  card.facts.push_back({printable(task.scenario, kNameBytes), join(parts, " · "), tone});
  if (run == nullptr) return;
  const std::vector<LatencyPoint> points = latencies_of(*run);
  const bool drawable = std::all_of(points.begin(), points.end(), [](const LatencyPoint& point) {
    return point.seconds >= 0 && point.seconds <= kLargestPlotted;
  });
  if (points.size() > 1 && drawable) card.plots.push_back(latency_plot(task, points));
}

/// Once for all scenarios of a task where it is the same: the model and its data are.
void add_quality(PageSection& card, const std::vector<const SuiteTask*>& tasks) {
  std::map<std::string, std::vector<std::string>> scenarios;  // by what is said
  std::map<std::string, Tone> tones;
  for (const SuiteTask* task : tasks) {
    if (!task->quality) continue;
    const SuiteQuality& quality = *task->quality;
    const char* verdict = !quality.passed ? "" : *quality.passed ? ": met" : ": MISSED";
    const std::string text = quality_text(*task) + verdict;
    scenarios[text].push_back(printable(task->scenario, 40));
    tones[text] = !quality.passed ? Tone::kPlain : *quality.passed ? Tone::kGood : Tone::kBad;
  }
  for (const auto& [text, names] : scenarios) {
    card.facts.push_back({scenarios.size() == 1 ? "quality" : "quality, " + join(names, ", "), text,
                          tones.at(text)});
  }
}

}  // namespace

PageSection suite_section(const ReportItem& item, const std::string& id,
                          const std::vector<ReportItem>& runs) {
  const auto& suite = as<Suite>(item);
  const ReportLine line = line_of(item);
  PageSection section{.id = id,
                      .title = fmt::format("Suite, tier {} · {} · {}", line.tier,
                                           line.started_at.substr(0, 10), line.status)};
  section.tone = line.tone;
  section.facts = common_facts(suite, item.file);
  // Each run has its own.
  std::erase_if(section.facts, [](const PageFact& fact) { return fact.name == "seed"; });
  const ScoreTrust trust = trust_in_score(item, runs);
  std::string score = plain_score_text(suite);
  if (!trust.reasons.empty()) score += "; " + join(trust.reasons, ", ");
  section.facts.insert(section.facts.begin(), {"score", score, trust.tone});
  if (suite.reference) {
    const SuiteReference& reference = *suite.reference;
    section.facts.push_back(
        {"reference",
         fmt::format("{}, {}, machine {}, tier {}, {}", printable(reference.file, 120),
                     printable(reference.processor, 80), short_name(reference.machine),
                     printable(reference.tier, 24), printable(reference.started_at, 24))});
  }
  for (const std::string& one : left_out_lines(suite)) {
    section.facts.push_back({"not in the score", one});
  }
  PagePlot plot = ratios_plot(suite);
  if (!plot.series.empty()) section.plots.push_back(std::move(plot));
  section.tables.push_back(tasks_table(suite.tasks));
  return section;
}

void add_task_cards(PageSection& section, const Suite& suite, const std::vector<ReportItem>& runs) {
  std::vector<std::pair<std::string, std::vector<const SuiteTask*>>> by_task;
  for (const SuiteTask& task : suite.tasks) {
    if (by_task.empty() || by_task.back().first != task.workload)
      by_task.push_back({task.workload, {}});
    by_task.back().second.push_back(&task);
  }
  for (const auto& [workload, tasks] : by_task) {
    PageSection& card = section.parts.emplace_back();
    card.id = fmt::format("{}-task-{}", section.id, section.parts.size());
    card.title = printable(workload, kNameBytes);
    for (const SuiteTask* task : tasks) add_scenario(card, *task, runs);
    add_quality(card, tasks);
  }
}

std::vector<PageFact> score_tiles(const std::vector<ReportItem>& suites,
                                  const std::vector<ReportItem>& runs) {
  if (suites.empty()) return {};
  const ReportItem& latest = suites.back();
  const auto& suite = as<Suite>(latest);
  const SuiteScore& score = suite.score;
  const ScoreTrust trust = trust_in_score(latest, runs);
  std::string name = "suite score";
  if (score.value) name += fmt::format(", over {} of {}", score.counted.size(), suite.tasks.size());
  if (!trust.reasons.empty()) name += "; " + join(trust.reasons, ", ");
  return {{name, score.value ? ratio_text({*score.value, {}, {}, 0}) : "-", trust.tone}};
}

}  // namespace harness
