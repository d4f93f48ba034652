#include "harness/report/text/result_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/base/text.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

/// "first=custom,second=reference": all of them, as --kernels takes it.
std::string kernels_given(const KernelSet& kernels) {
  std::vector<std::string> parts;
  for (const auto& [name, implementation] : kernels) parts.push_back(name + "=" + implementation);
  return printable(join(parts, ","), 1000);
}

/// Empty where a file has no such setting.
std::string setting(const ResultCommon& result, const char* key) {
  const std::string text = setting_text(result.settings, key);
  return text == "-" ? "" : text;
}

}  // namespace

const CsvRow& metric_columns() {
  static const CsvRow columns = {"name", "unit", "direction", "n",   "median", "p25",
                                 "p75",  "min",  "max",       "p90", "p99"};
  return columns;
}

const CsvRow& stack_columns() {
  static const CsvRow columns = {"variant", "precision", "allocator", "kernels"};
  return columns;
}

const CsvRow& identity_columns() {
  static const CsvRow columns = {"kind",   "workload",   "rules_version", "tier",      "division",
                                 "status", "mistrusted", "threads",       "seed",      "batch_size",
                                 "run",    "series",     "run_index",     "run_count", "commit",
                                 "dirty",  "machine",    "started_at",    "scenario"};
  return columns;
}

CsvRow joined(std::initializer_list<CsvRow> parts) {
  CsvRow row;
  for (const CsvRow& part : parts) std::copy(part.begin(), part.end(), std::back_inserter(row));
  return row;
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

CsvRow stack_row(const std::string& variant, const std::string& precision,
                 const std::string& allocator, const KernelSet& kernels) {
  return {printable(variant), printable(precision), printable(allocator), kernels_given(kernels)};
}

CsvRow identity_row(const ResultCommon& result, const std::string& kind, bool sound) {
  const Identity& identity = result.identity;
  return {kind,
          printable(result.rules.workload),
          printable(result.rules.version),
          printable(result.rules.tier),
          printable(result.rules.division),
          sound ? to_text(result.status.state) : "not valid",
          yes_no(result.status.mistrusted),
          setting(result, "threads"),
          fmt::format("{}", result.seeds.run),
          setting(result, "batch_size"),
          printable(identity.uuid),
          printable(identity.series_id),
          fmt::format("{}", identity.run_index),
          fmt::format("{}", identity.run_count),
          printable(identity.git_commit),
          yes_no(identity.git_dirty),
          printable(machine_of(result)),
          printable(identity.started_at),
          printable(result.rules.scenario)};
}

CsvTable metric_table() {
  return CsvTable(joined({metric_columns(), stack_columns(), identity_columns()}));
}

void add_metric_rows(CsvTable& table, const Result& result, const std::string& kind, bool sound) {
  const CsvRow stack =
      stack_row("", setting(result, "precision"), setting(result, "allocator"), result.kernels);
  const CsvRow identity = identity_row(result, kind, sound);
  if (result.loadgen) {
    const LoadGenFigure& figure = result.loadgen->figure;
    const std::string value = csv_number(figure.value);
    const CsvRow first = {printable(figure.tag),
                          printable(figure.unit),
                          to_text(direction_of(figure)),
                          "1",
                          value,
                          "",
                          "",
                          value,
                          value,
                          "",
                          ""};
    table.add(joined({first, stack, identity}));
  }
  for (const Metric& metric : result.metrics) {
    const Summary& summary = metric.summary;
    const CsvRow first = {printable(metric.tag), printable(metric.unit), to_text(metric.direction),
                          fmt::format("{}", summary.n)};
    const std::optional<Quartiles>& middle = summary.quartiles;
    const CsvRow center = {summary.median ? csv_number(summary.median->center) : "",
                           middle ? csv_number(middle->low) : "",
                           middle ? csv_number(middle->high) : ""};
    const CsvRow last = {csv_number(summary.min), csv_number(summary.max), csv_number(summary.p90),
                         csv_number(summary.p99)};
    table.add(joined({first, center, last, stack, identity}));
  }
}

std::string metrics_csv(std::span<const Result> runs) {
  CsvTable table = metric_table();
  for (const Result& run : runs) add_metric_rows(table, run, "run", true);
  return table.text();
}

}  // namespace harness
