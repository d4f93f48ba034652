#include "harness/report/text/result_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/base/text.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using Row = std::vector<std::string>;

const Row kMetricColumns = {"name", "unit", "direction", "n",   "median", "p25",
                            "p75",  "min",  "max",       "p90", "p99"};
const Row kStackColumns = {"variant", "precision", "allocator", "kernels"};
const Row kIdentityColumns = {"kind",   "workload",   "rules_version", "tier",      "division",
                              "status", "mistrusted", "threads",       "seed",      "batch_size",
                              "run",    "series",     "run_index",     "run_count", "commit",
                              "dirty",  "machine",    "started_at"};

Row joined(std::initializer_list<Row> parts) {
  Row row;
  for (const Row& part : parts) std::copy(part.begin(), part.end(), std::back_inserter(row));
  return row;
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

/// Empty where a file has no such setting.
std::string setting(const ResultCommon& result, const char* key) {
  const std::string text = setting_text(result.settings, key);
  return text == "-" ? "" : text;
}

Row identity_of(const ResultCommon& result, const std::string& kind, bool sound) {
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
          printable(identity.started_at)};
}

/// "first=custom,second=reference": all of them, as --kernels takes it.
std::string kernels_given(const KernelSet& kernels) {
  std::vector<std::string> parts;
  for (const auto& [name, implementation] : kernels) parts.push_back(name + "=" + implementation);
  return printable(join(parts, ","), 1000);
}

Row stack_of(const Variant& variant) {
  return {printable(variant.name), printable(variant.settings.of("precision")),
          printable(variant.settings.of("allocator")), kernels_given(variant.settings.kernels)};
}

/// Median, low, high, confidence.
Row interval_of(const std::optional<Interval>& interval) {
  Row row;
  append_interval(row, interval);
  return row;
}

}  // namespace

CsvTable metric_table() {
  return CsvTable(joined({kMetricColumns, kStackColumns, kIdentityColumns}));
}

void add_metric_rows(CsvTable& table, const Result& result, const std::string& kind, bool sound) {
  const Row stack = {"", setting(result, "precision"), setting(result, "allocator"),
                     kernels_given(result.kernels)};
  const Row identity = identity_of(result, kind, sound);
  for (const Metric& metric : result.metrics) {
    const Summary& summary = metric.summary;
    const Row first = {printable(metric.tag), printable(metric.unit), to_text(metric.direction),
                       fmt::format("{}", summary.n)};
    const std::optional<Quartiles>& middle = summary.quartiles;
    const Row center = {summary.median ? csv_number(summary.median->center) : "",
                        middle ? csv_number(middle->low) : "",
                        middle ? csv_number(middle->high) : ""};
    const Row last = {csv_number(summary.min), csv_number(summary.max), csv_number(summary.p90),
                      csv_number(summary.p99)};
    table.add(joined({first, center, last, stack, identity}));
  }
}

void add_metric_rows(CsvTable& table, const Ablation& ablation, bool sound) {
  const Row identity = identity_of(ablation, "ablation", sound);
  for (const Variant& variant : ablation.variants) {
    if (!variant.median_seconds) continue;
    const auto rounds = std::count_if(variant.turns.begin(), variant.turns.end(),
                                      [](const Turn& turn) { return !turn.warmup; });
    const Row metric = {"time.step", "s", to_text(Direction::kLower), fmt::format("{}", rounds),
                        csv_number(variant.median_seconds)};
    table.add(
        joined({metric, Row(kMetricColumns.size() - metric.size()), stack_of(variant), identity}));
  }
}

std::string metrics_csv(std::span<const Result> runs) {
  CsvTable table = metric_table();
  for (const Result& run : runs) add_metric_rows(table, run, "run", true);
  return table.text();
}

std::string variants_csv(const Ablation& ablation) {
  const auto ratio_columns = [](const std::string& name) -> Row {
    return {name, name + "_low", name + "_high", name + "_confidence"};
  };
  CsvTable table(joined({kStackColumns,
                         {"median_seconds"},
                         ratio_columns("ratio_to_first"),
                         {"previous"},
                         ratio_columns("ratio_to_previous"),
                         {"reference"},
                         ratio_columns("ratio_to_reference"),
                         {"peak_memory_bytes", "quality_metric", "quality", "quality_passed"},
                         kIdentityColumns}));
  const Row identity = identity_of(ablation, "ablation", true);
  for (const Variant& variant : ablation.variants) {
    Row quality = {"", "", ""};
    if (variant.quality) {
      const std::optional<bool>& passed = variant.quality->passed;
      quality = {printable(variant.quality->quality.metric),
                 csv_number(variant.quality->quality.value), passed ? yes_no(*passed) : ""};
    }
    table.add(joined({stack_of(variant),
                      {csv_number(variant.median_seconds)},
                      interval_of(variant.to_first.value),
                      {printable(variant.to_previous.to)},
                      interval_of(variant.to_previous.value),
                      {printable(variant.to_reference.to)},
                      interval_of(variant.to_reference.value),
                      {csv_number(variant.memory.peak_bytes)},
                      quality,
                      identity}));
  }
  return table.text();
}

}  // namespace harness
