#include "harness/kinds/ablation/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/plan/ablation_plan.hpp"

namespace harness {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 40;

std::optional<std::int64_t> number_of(const Variant& variant, const char* setting) {
  const std::optional<std::int64_t> number = parse_integer(variant.settings.of(setting));
  if (!number || *number < 1 || *number > kLargest) return std::nullopt;
  return number;
}

std::optional<ScaleRow> world_of(const Variant& variant) {
  const auto ranks = number_of(variant, "ranks");
  const auto batch = number_of(variant, "batch_size");
  if (!ranks || !batch) return std::nullopt;
  ScaleRow row{variant.name.starts_with(kStrongWorld), variant.name, *ranks, *batch, {}};
  const char* kind = row.strong ? kStrongWorld : kWeakWorld;
  if (variant.name != kind + std::to_string(*ranks)) return std::nullopt;
  return row;
}

const Variant& variant_of(const Ablation& ablation, const ScaleRow& row) {
  return *std::find_if(ablation.variants.begin(), ablation.variants.end(),
                       [&](const Variant& variant) { return variant.name == row.variant; });
}

void fill_efficiency(const Ablation& ablation, const ScaleRow& base, ScaleRow& row) {
  row.efficiency = speedup_between(ablation, variant_of(ablation, base), variant_of(ablation, row));
  if (!row.efficiency.value) return;
  // Of each rank: what all do is shared by so many.
  const double factor = static_cast<double>(row.batch) / static_cast<double>(base.batch);
  Interval& value = *row.efficiency.value;
  value.center *= factor;
  if (value.low) *value.low *= factor;
  if (value.high) *value.high *= factor;
}

}  // namespace

bool is_scaling(const Ablation& ablation) {
  return ablation.settings.effective.contains("scaling");
}

std::vector<ScaleRow> scale_rows(const Ablation& ablation) {
  std::vector<ScaleRow> weak;
  std::vector<ScaleRow> strong;
  for (const Variant& variant : ablation.variants) {
    if (variant.peer) continue;
    if (const auto row = world_of(variant)) (row->strong ? strong : weak).push_back(*row);
  }
  if (!weak.empty() && !strong.empty()) {
    strong.push_back(weak.back());
    strong.back().strong = true;
  }
  std::vector<ScaleRow> rows;
  for (auto* kind : {&weak, &strong}) {
    for (ScaleRow& row : *kind) {
      fill_efficiency(ablation, kind->front(), row);
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<Violation> check_worlds(const Ablation& ablation) {
  std::vector<Violation> violations;
  const std::vector<ScaleRow> rows = scale_rows(ablation);
  std::vector<const ScaleRow*> before(2, nullptr);
  std::size_t known = 0;
  for (const ScaleRow& row : rows) {
    const ScaleRow*& last = before[row.strong ? 1 : 0];
    const bool shared = row.strong && row.variant.starts_with(kWeakWorld);
    known += shared ? 0 : 1;
    if (last != nullptr) {
      const bool rises = row.ranks > last->ranks;
      const bool fits = row.strong ? row.ranks * row.batch == last->ranks * last->batch
                                   : row.batch == last->batch;
      const Variant& variant = variant_of(ablation, row);
      if (!rises || !fits) {
        violations.push_back({"world", "/variants",
                              row.strong ? "one batch, shared by rising ranks"
                                         : "one batch for each of rising ranks",
                              fmt::format("{} ranks of batch {} behind {} of {}", row.ranks,
                                          row.batch, last->ranks, last->batch),
                              ""});
      }
      if (!shared && variant.to_previous.to != last->variant) {
        violations.push_back({"variant-base", "/variants", "'" + last->variant + "'",
                              "'" + printable(variant.to_previous.to, 64) + "'", ""});
      }
    }
    last = &row;
  }
  const auto worlds = std::count_if(ablation.variants.begin(), ablation.variants.end(),
                                    [](const Variant& variant) { return !variant.peer; });
  if (known != static_cast<std::size_t>(worlds) || known < 2) {
    violations.push_back({"world", "/variants", "two or more worlds, named after their ranks",
                          fmt::format("{} of {} are", known, worlds), ""});
  }
  return violations;
}

}  // namespace harness
