#include "harness/report/report_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/profile/views.hpp"
#include "harness/report/shown_kind.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/loadgen_report.hpp"

namespace harness {
namespace {

const Metric* metric_tagged(const Result& run, const std::string& tag) {
  for (const Metric& metric : run.metrics) {
    if (metric.tag == tag && metric.summary.median) return &metric;
  }
  return nullptr;
}

std::string quality_text(const std::optional<QualityReport>& report) {
  if (!report) return "-";
  const std::string value =
      report->quality.value ? fmt::format("{:.4g}", *report->quality.value) : "none";
  const char* met = !report->passed ? "" : *report->passed ? ", met" : ", MISSED";
  return fmt::format("{} {}{}", printable(report->quality.metric, 24), value, met);
}

/// Three significant digits, zeros at the end included: 0.974, 1.40, 13.5, 135.
std::string ratio_digits(double ratio) {
  if (!(ratio >= 0.001 && ratio < 1e6)) return fmt::format("{:.3g}", ratio);
  return fmt::format("{:.{}f}", ratio,
                     ratio < 0.9995  ? 3
                     : ratio < 9.995 ? 2
                     : ratio < 99.95 ? 1
                                     : 0);
}

}  // namespace

const Metric* headline_metric(const Result& run) {
  for (const char* tag : {"time.to-quality", "time.step"}) {
    if (const Metric* metric = metric_tagged(run, tag)) return metric;
  }
  for (const Metric& metric : run.metrics) {
    if (metric.direction == Direction::kLower && metric.summary.median) return &metric;
  }
  return nullptr;
}

std::pair<std::string, std::string> bounds_texts(const Quartiles& bounds, const std::string& unit) {
  std::string low = format_quantity(bounds.low, unit);
  std::string high = format_quantity(bounds.high, unit);
  const std::size_t blank = low.find(' ');
  if (blank != std::string::npos && high.ends_with(low.substr(blank))) low.resize(blank);
  return {std::move(low), std::move(high)};
}

std::string with_interval(const Interval& interval, const std::string& unit) {
  std::string center = format_quantity(interval.center, unit);
  if (!interval.low || !interval.high) return center;
  const auto [low, high] = bounds_texts({*interval.low, *interval.high}, unit);
  return fmt::format("{} [{}, {}]", center, low, high);
}

std::string with_quartiles(const Summary& summary, const std::string& unit) {
  std::string center = format_quantity(summary.median->center, unit);
  if (!summary.quartiles) return center;
  const auto [low, high] = bounds_texts(*summary.quartiles, unit);
  return fmt::format("{} ({} .. {})", center, low, high);
}

std::string peak_text(const Peak& peak) {
  const std::optional<double> best = peak_of({peak}, peak.tag);
  if (!best) return "unknown: " + printable(peak.reason);
  return fmt::format("{} at best, {} usually", format_quantity(*best, peak.unit),
                     format_quantity(peak.value->center, peak.unit));
}

std::string ratio_text(const Interval& ratio) {
  std::string center = ratio_digits(ratio.center);
  if (!ratio.low || !ratio.high) return center;
  return fmt::format("{} [{}, {}]", center, ratio_digits(*ratio.low), ratio_digits(*ratio.high));
}

std::string short_name(const std::string& digits, std::size_t length) {
  return digits.empty() ? "unknown" : printable(digits.substr(0, length), length);
}

std::string machine_of(const ResultCommon& result) {
  return text_member(result.system, "fingerprint");
}

std::string commit_of(const Identity& identity) {
  return short_name(identity.git_commit, 7) + (identity.git_dirty ? "*" : "");
}

std::string status_text(const Status& status, const ReportFile& file) {
  if (!file.problems.empty()) {
    return "NOT VALID: " + format_count(std::ssize(file.problems), "problem");
  }
  const std::string state = missed_target(status) ? "target missed"
                            : was_stopped(status) ? "not complete"
                                                  : to_text(status.state);
  return state + (status.mistrusted ? ", mistrusted" : "");
}

Tone status_tone(const Status& status, const ReportFile& file) {
  if (!file.problems.empty() || status.state == RunState::kInvalid) return Tone::kBad;
  if (status.mistrusted || status.state != RunState::kValid) return Tone::kDoubt;
  return Tone::kGood;
}

ReportLine line_of(const ReportItem& item) { return item.kind->line(*item.result, item.file); }

ReportLine common_line(const ResultCommon& result, const ReportFile& file) {
  ReportLine line;
  line.started_at = printable(result.identity.started_at, 24);
  line.workload = printable(result.rules.workload, 40);
  line.tier = printable(result.rules.tier, 16);
  line.machine = short_name(machine_of(result));
  line.commit = commit_of(result.identity);
  line.status = status_text(result.status, file);
  line.tone = status_tone(result.status, file);
  line.file = printable(file.name);
  return line;
}

ReportLine line_of_run(const Result& run, const ReportFile& file) {
  ReportLine line = common_line(run, file);
  line.stack = setting_text(run.settings, "precision") + " " + kernels_text(run.kernels);
  // Stopped runs have it too, whose tests LoadGen did not conclude.
  if (figure_of_scenario(run.rules.scenario) != nullptr)
    line.workload += "/" + printable(run.rules.scenario, 16);
  // What LoadGen's test was made for, not its single queries.
  if (run.loadgen && run.loadgen->figure.value > 0) {
    const LoadGenFigure& figure = run.loadgen->figure;
    line.headline = {printable(figure.tag, 40),
                     format_quantity(figure.value, printable(figure.unit, 16)), figure.value};
  } else if (const Metric* metric = headline_metric(run)) {
    line.headline = {printable(metric->tag, 40), with_quartiles(metric->summary, metric->unit),
                     metric->summary.median->center};
  }
  line.quality = quality_text(run.quality);
  if (run.quality) line.quality_value = run.quality->quality.value;
  return line;
}

ReportLine line_of_profile(const Profile& profile, const ReportFile& file) {
  const ProfileTables& tables = profile.tables;
  ReportLine line = common_line(profile, file);
  line.stack = fmt::format("{} {}, profile", setting_text(profile.settings, "precision"),
                           kernels_text(profile.kernels));
  line.quality = "-";
  const std::vector<OperatorSum> parts = by_part(tables);
  if (tables.step_seconds > 0 && !parts.empty()) {
    const double share = 100 * parts.front().self_seconds / tables.step_seconds;
    line.headline = {
        printable(parts.front().name, 40),
        fmt::format("{:.1f} % of {}", share, format_quantity(tables.step_seconds, "s")),
        tables.step_seconds};
  }
  return line;
}

}  // namespace harness
