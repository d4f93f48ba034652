#include "harness/kinds/suite/section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/kinds/suite/lines.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/thinning.hpp"

namespace harness {
namespace {

constexpr double kFarTail = 10;  ///< the longest latency over the shortest

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
         {state_text(task), {}, tone_of(task)}});
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
    plot.marks.push_back({plotted(*suite.score.value), "score"});
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
  return plot;
}

const Result* run_of(const SuiteTask& task, const std::vector<ReportItem>& runs) {
  if (!task.run) return nullptr;
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const ReportItem& item) {
    return item.result->identity.uuid == task.run->uuid;
  });
  return found == runs.end() ? nullptr : &as<Result>(*found);
}

void add_scenario(PageSection& card, const SuiteTask& task, const std::vector<ReportItem>& runs) {
  const Tone tone = tone_of(task);
  std::string text = task.figure ? figure_text(*task.figure) : state_text(task);
  if (task.ratio) text += fmt::format(", {} x the reference", ratio_text({*task.ratio, {}, {}, 0}));
  if (tone != Tone::kGood && task.figure) text += ", " + state_text(task);
  if (!task.run) text += ": " + printable(task.no_run);
  card.facts.push_back({printable(task.scenario, kNameBytes), text, tone});
  const Result* run = run_of(task, runs);
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

/// A score is as good as the runs it is made of.
Tone score_tone(const Suite& suite) {
  return suite.score.value && mistrusted_in_score(suite) == 0 ? Tone::kGood : Tone::kDoubt;
}

}  // namespace

PageSection suite_section(const ReportItem& item, const std::string& id) {
  const auto& suite = as<Suite>(item);
  const ReportLine line = line_of(item);
  PageSection section{.id = id,
                      .title = fmt::format("Suite, tier {} · {} · {}", line.tier,
                                           line.started_at.substr(0, 10), line.status)};
  section.tone = line.tone;
  section.facts = common_facts(suite, item.file);
  // Each run has its own.
  std::erase_if(section.facts, [](const PageFact& fact) { return fact.name == "seed"; });
  section.facts.insert(section.facts.begin(), {"score", score_text(suite), score_tone(suite)});
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

std::vector<PageFact> score_tiles(const std::vector<ReportItem>& suites) {
  if (suites.empty()) return {};
  const auto& suite = as<Suite>(suites.back());
  const SuiteScore& score = suite.score;
  if (!score.value) return {{"suite score", "-", Tone::kDoubt}};
  return {{fmt::format("suite score, over {} of {}", score.counted.size(), suite.tasks.size()),
           ratio_text({*score.value, {}, {}, 0}),
           score.missing.empty() ? score_tone(suite) : Tone::kPlain}};
}

}  // namespace harness
