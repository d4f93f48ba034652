#include "harness/report/page/html_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/base/text.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/html_groups.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostCurves = 40;

const Metric* curve_of(const Result& run) {
  return run.quality ? find_metric(run.metrics, "quality." + run.quality->quality.metric) : nullptr;
}

/// One of `runs` as a curve by epoch, or by seconds on the clock.
PlotSeries series_of(const Result& run, const std::string& name, std::size_t colour, bool by_time) {
  PlotSeries series{name, PlotStyle::kLine, colour, {}};
  const Metric* curve = curve_of(run);
  const Metric* elapsed = find_metric(run.metrics, "time.elapsed");
  if (curve == nullptr || (by_time && elapsed == nullptr)) return series;
  for (const Sample& sample : thin(curve->samples).kept) {
    PlotPoint point{static_cast<double>(sample.step), plotted(*sample.value)};
    point.label = fmt::format("epoch {}, seed {}", sample.step, run.seeds.run);
    if (by_time) {
      const auto at = std::find_if(elapsed->samples.begin(), elapsed->samples.end(),
                                   [&](const Sample& one) { return one.step == sample.step; });
      if (at == elapsed->samples.end() || !at->value || !(*at->value <= kLargestPlotted)) continue;
      point.x = plotted(*at->value / 60);
    }
    series.points.push_back(point);
  }
  return series;
}

void add_row(PageTable& table, const ReportData& data, std::size_t place, const std::string& name) {
  const Result& result = as<Result>(data.runs()[place]);
  const TrainingReport& training = *result.training;
  const double loss = [&] {
    const Metric* metric = find_metric(result.metrics, "loss.total");
    const bool known =
        metric != nullptr && !metric->samples.empty() && metric->samples.back().value;
    return known ? *metric->samples.back().value : std::nan("");
  }();
  PageCell quality{"none"};
  if (result.quality && result.quality->quality.value) {
    const double value = *result.quality->quality.value;
    quality = {fmt::format("{:.4f}", value), value};
  }
  const ReportLine line = line_of(data.runs()[place]);
  table.rows.push_back(
      {{line.started_at, {}, Tone::kPlain, section_id(data, "run", place)},
       {name},
       count_cell(result.seeds.run),
       count_cell(training.epochs),
       quantity_cell(training.seconds, "s"),
       std::isfinite(loss) ? PageCell{fmt::format("{:.4f}", loss), loss} : PageCell{"-"},
       quality,
       {training.target_reached ? "reached" : "missed",
        {},
        training.target_reached ? Tone::kGood : Tone::kDoubt}});
}

PageSection group_section(const ReportData& data, const WorkGroup& group) {
  PageSection section;
  section.title = group.title;
  PagePlot by_epoch;
  PagePlot by_time;
  PageTable table{.caption = "Runs"};
  table.columns = {{"started (UTC)"},      {"set-up"},
                   {"seed", true},         {"epochs", true},
                   {"on the clock", true}, {"last mean loss", true},
                   {"quality", true},      {"target"}};
  std::vector<SetUp> set_ups;
  for (const auto& [set_up, places] : group.set_ups) set_ups.push_back(set_up);
  const std::vector<std::string> names = set_up_names(set_ups);
  std::set<double> targets;
  std::string quality = "quality";
  std::size_t total = 0;
  for (std::size_t i = 0; i < group.set_ups.size(); ++i) {
    const std::string name = group.set_ups.size() == 1 ? "run" : names[i];
    for (const std::size_t place : group.set_ups[i].second) {
      const Result& run = as<Result>(data.runs()[place]);
      if (!run.training) continue;
      add_row(table, data, place, name);
      if (run.quality) {
        quality = printable(run.quality->quality.metric, 60);
        if (run.quality->target) targets.insert(*run.quality->target);
      }
      if (++total > kMostCurves) continue;
      by_epoch.series.push_back(series_of(run, name, i, false));
      by_time.series.push_back(series_of(run, name, i, true));
    }
  }
  by_epoch.title = quality + " by epoch";
  by_epoch.x.label = "epoch";
  by_time.title = quality + " by time on the clock";
  by_time.x.label = "minutes";
  for (PagePlot* plot : {&by_epoch, &by_time}) {
    plot->y.label = quality;
    plot->description =
        "One curve per run, one colour per set-up. The table says how each run ended.";
    if (total > kMostCurves) {
      plot->description +=
          fmt::format(" Only the first {} of {} runs are drawn.", kMostCurves, total);
    }
    drop_empty_series(*plot);
    // Targets of a run's own that nobody meant to reach would only squeeze the curves.
    if (targets.size() == 1 && std::abs(*targets.begin()) <= kLargestPlotted) {
      plot->marks.push_back({plotted(*targets.begin()), "target", true});
    }
    if (!plot->series.empty()) section.plots.push_back(std::move(*plot));
  }
  limit_rows(table);
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace

PageSection training_section(const ReportData& data) {
  PageSection section{.id = "training", .title = "Training to a target"};
  for (const WorkGroup& group : group_runs(data)) {
    PageSection part = group_section(data, group);
    if (part.tables.front().rows.empty()) continue;
    part.id = fmt::format("training-{}", section.parts.size() + 1);
    section.parts.push_back(std::move(part));
  }
  return section;
}

}  // namespace harness
