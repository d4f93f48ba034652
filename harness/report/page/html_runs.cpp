#include "harness/report/page/html_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/report/common_text.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/html_loadgen.hpp"
#include "harness/report/page/html_plots.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {
namespace {

PageTable metrics_table(const Result& run) {
  PageTable table{.caption = "Metrics after the warm-up"};
  table.columns = {{"metric"},         {"median", true},  {"quartiles", true}, {"n", true},
                   {"smallest", true}, {"largest", true}, {"p90", true},       {"note"}};
  for (const Metric& metric : run.metrics) {
    const Summary& summary = metric.summary;
    PageCell median{"-"};
    PageCell spread{"-"};
    if (summary.median) {
      median = quantity_cell(summary.median->center, metric.unit);
      if (const std::optional<Quartiles>& middle = summary.quartiles) {
        const auto [low, high] = bounds_texts(*middle, metric.unit);
        spread = {fmt::format("{} .. {}", low, high), middle->high - middle->low};
      }
    }
    std::vector<std::string> warnings;
    for (const std::string& warning : metric.warnings) warnings.push_back(printable(warning));
    const bool doubtful = !warnings.empty();
    table.rows.push_back({{printable(metric.tag, kNameBytes)},
                          median,
                          spread,
                          count_cell(summary.n),
                          quantity_cell(summary.min, metric.unit),
                          quantity_cell(summary.max, metric.unit),
                          quantity_cell(summary.p90, metric.unit),
                          {join(warnings, "; "), {}, doubtful ? Tone::kDoubt : Tone::kPlain}});
  }
  limit_rows(table);
  return table;
}

PageTable checks_table(const std::vector<Check>& checks) {
  PageTable table{.caption = "Quality checks"};
  table.columns = {{"check"},       {"expected", true},  {"actual", true},
                   {"error", true}, {"tolerance", true}, {"share of tolerance", true},
                   {"verdict"}};
  for (const Check& check : checks) {
    const bool known = check.error && check.tolerance > 0;
    const double share = known ? *check.error / check.tolerance : 0;
    table.rows.push_back(
        {{printable(check.name, 120)},
         {printable(check.expected, 60)},
         {printable(check.actual, 60)},
         quantity_cell(check.error, "1"),
         quantity_cell(check.tolerance, "1"),
         quantity_cell(known ? std::optional(share) : std::nullopt, "1"),
         {check.passed ? "passed" : "FAILED", {}, check.passed ? Tone::kPlain : Tone::kBad}});
  }
  limit_rows(table);
  return table;
}

void add_measured(std::vector<PageFact>& facts, const Result& run) {
  for (const Peak& peak : run.peaks) {
    facts.push_back({"peak " + printable(peak.tag, 40),
                     peak.value
                         ? fmt::format("{} ({})", peak_text(peak), printable(peak.method, 80))
                         : peak_text(peak)});
  }
  if (run.cost) {
    const CostReport& cost = *run.cost;
    if (cost.cost.step_flops > 0) {
      facts.push_back({"work per step", format_quantity(cost.cost.step_flops, "FLOP")});
    }
    if (cost.cost.step_bytes > 0) {
      facts.push_back({"least traffic per step", format_quantity(cost.cost.step_bytes, "B")});
    }
    if (cost.achieved_flops_per_second) {
      const std::string share = cost.utilisation ? ", " + achieved_text(cost) : "";
      facts.push_back(
          {"achieved", format_quantity(*cost.achieved_flops_per_second, "FLOP/s") + share});
    }
  }
  facts.push_back({"peak memory", run.memory.peak_bytes
                                      ? format_quantity(*run.memory.peak_bytes, "B")
                                      : "unknown: " + printable(run.memory.reason)});
  if (run.training) {
    const TrainingReport& training = *run.training;
    facts.push_back(
        {"trained", fmt::format("{} of at most {}, {}, {} on the clock{}",
                                format_count(training.epochs, "epoch"), training.max_epochs,
                                format_count(training.samples, "sample"),
                                format_quantity(training.seconds, "s"),
                                training.resumed.empty() ? "" : ", resumed")});
  }
}

void add_quality(std::vector<PageFact>& facts, const Result& run) {
  if (!run.quality) return;
  const QualityReport& report = *run.quality;
  const std::string value = report.quality.value ? fmt::format("{:.6g}", *report.quality.value)
                                                 : "none: " + printable(report.quality.reason);
  std::string text = value;
  if (report.target) {
    const char* sign = report.quality.direction == Direction::kHigher ? ">=" : "<=";
    text += fmt::format(", target {} {:.6g}", sign, *report.target);
  }
  Tone tone = Tone::kPlain;
  if (report.passed) {
    text += *report.passed ? ": met" : ": MISSED";
    tone = *report.passed ? Tone::kGood : Tone::kBad;
  }
  facts.push_back({"quality, " + printable(report.quality.metric, 60), text, tone});
}

}  // namespace

PageSection run_section(const ReportItem& run, const std::string& id) {
  const Result& result = as<Result>(run);
  const ReportLine line = line_of(run);
  PageSection section{.id = id,
                      .title = fmt::format("{} · {} · {} · {} · {}", line.workload, line.tier,
                                           line.stack, line.started_at, line.status)};
  section.tone = line.tone;
  section.folded = true;
  section.facts = common_facts(result, run.file);
  add_loadgen(section.facts, result);
  section.facts.push_back({"kernels", kernels_text(result.kernels)});
  add_quality(section.facts, result);
  add_measured(section.facts, result);
  constexpr std::size_t kMostMetrics = 60;
  const Metric* headline = headline_metric(result);
  const auto add_plots = [&](std::size_t i) {
    const Metric& metric = result.metrics[i];
    if (run.samples[i].kept.empty()) return;
    section.plots.push_back(
        sample_plot(metric, run.samples[i], result.training ? "epoch" : "step"));
    if (!run.histograms[i].counts.empty()) {
      section.plots.push_back(histogram_plot(metric, run.histograms[i]));
    }
  };
  // What the run is told by is chosen first.
  for (std::size_t i = 0; i < result.metrics.size(); ++i) {
    if (&result.metrics[i] == headline) add_plots(i);
  }
  for (std::size_t i = 0; i < std::min(result.metrics.size(), kMostMetrics); ++i) {
    if (&result.metrics[i] != headline) add_plots(i);
  }
  if (result.metrics.size() > kMostMetrics) {
    section.paragraphs.push_back(fmt::format("Only the first {} of {} metrics are drawn.",
                                             kMostMetrics, result.metrics.size()));
  }
  if (const auto roofline = roofline_plot(result)) section.plots.push_back(*roofline);
  section.tables.push_back(metrics_table(result));
  if (result.quality && !result.quality->quality.checks.empty()) {
    section.tables.push_back(checks_table(result.quality->quality.checks));
  }
  return section;
}

}  // namespace harness
