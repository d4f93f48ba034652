#include "harness/kinds/ablation/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/report/text/result_tables.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

CsvRow stack_of(const Variant& variant) {
  return stack_row(variant.name, variant.settings.of("precision"), variant.settings.of("allocator"),
                   variant.settings.kernels);
}

/// Median, low, high, confidence.
CsvRow interval_of(const std::optional<Interval>& interval) {
  CsvRow row;
  append_interval(row, interval);
  return row;
}

}  // namespace

void add_metric_rows(CsvTable& table, const Ablation& ablation, bool sound) {
  const CsvRow identity = identity_row(ablation, "ablation", sound);
  for (const Variant& variant : ablation.variants) {
    if (!variant.median_seconds) continue;
    const auto rounds = std::count_if(variant.turns.begin(), variant.turns.end(),
                                      [](const Turn& turn) { return !turn.warmup; });
    const CsvRow metric = {"time.step", "s", to_text(Direction::kLower), fmt::format("{}", rounds),
                           csv_number(variant.median_seconds)};
    table.add(joined(
        {metric, CsvRow(metric_columns().size() - metric.size()), stack_of(variant), identity}));
  }
}

std::string variants_csv(const Ablation& ablation) {
  const auto ratio_columns = [](const std::string& name) -> CsvRow {
    return {name, name + "_low", name + "_high", name + "_confidence"};
  };
  CsvTable table(joined({stack_columns(),
                         {"median_seconds"},
                         ratio_columns("ratio_to_first"),
                         {"previous"},
                         ratio_columns("ratio_to_previous"),
                         {"reference"},
                         ratio_columns("ratio_to_reference"),
                         {"peak_memory_bytes", "quality_metric", "quality", "quality_passed"},
                         identity_columns()}));
  const CsvRow identity = identity_row(ablation, "ablation", true);
  for (const Variant& variant : ablation.variants) {
    CsvRow quality = {"", "", ""};
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
