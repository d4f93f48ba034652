#include "harness/kinds/ablation/lines.hpp"

#include <fmt/format.h>

#include "harness/base/text.hpp"
#include "harness/kinds/ablation/scaling.hpp"

namespace harness {
namespace {

constexpr std::size_t kShownBytes = 40;

}  // namespace

std::vector<std::string> group_lines(const Ablation& ablation) {
  const std::vector<std::vector<std::size_t>> groups = groups_of(ablation);
  if (groups.size() == 1) return {};
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    std::vector<std::string> names;
    for (const std::size_t i : groups[k]) {
      names.push_back(printable(ablation.variants[i].name, kShownBytes));
    }
    lines.push_back(fmt::format("group {} of {}, for want of memory: {}", k + 1, groups.size(),
                                join(names, ", ")));
  }
  lines.push_back(fmt::format(
      "variants of different groups were never measured together: their ratios are taken by way of "
      "'{}', and their medians are of different times",
      printable(ablation.variants.front().name, kShownBytes)));
  return lines;
}

std::vector<std::string> doubt_lines(const Ablation& ablation) {
  std::vector<std::string> lines;
  for (const Variant& variant : ablation.variants) {
    if (!is_doubtful(variant)) continue;
    lines.push_back(fmt::format("doubtful: {} {}; its times and ratio say nothing",
                                printable(variant.name, kShownBytes),
                                printable(variant.peer->doubt, 200)));
  }
  return lines;
}

bool is_doubtful(const Variant& variant) { return variant.peer && !variant.peer->doubt.empty(); }

ReportLine line_of_ablation(const Ablation& ablation, const ReportFile& file) {
  ReportLine line = common_line(ablation, file);
  const std::vector<Variant>& variants = ablation.variants;
  line.stack = is_scaling(ablation) ? "scaling, " + format_count(std::ssize(variants), "world")
                                    : "ablation, " + format_count(std::ssize(variants), "variant");
  const Variant* best = nullptr;
  std::size_t judged = 0;
  std::size_t missed = 0;
  for (const Variant& variant : variants) {
    const auto& ratio = variant.to_first.value;
    if (ratio && !is_doubtful(variant) &&
        (best == nullptr || ratio->center > best->to_first.value->center)) {
      best = &variant;
    }
    if (!variant.quality || !variant.quality->passed) continue;
    ++judged;
    missed += *variant.quality->passed ? 0 : 1;
  }
  const std::vector<ScaleRow> rows =
      is_scaling(ablation) ? scale_rows(ablation) : std::vector<ScaleRow>();
  if (!rows.empty()) {
    // The largest world is the last one of both kinds.
    const ScaleRow& largest = rows.back();
    const auto& value = largest.efficiency.value;
    line.headline = {printable(largest.variant, 30),
                     value ? fmt::format("{:.0f} % efficient", 100 * value->center) : "-",
                     value ? std::optional(value->center) : std::nullopt};
  } else if (best != nullptr) {
    const Interval& ratio = *best->to_first.value;
    line.headline = {printable(best->name, 30), ratio_text(ratio) + " x first", ratio.center};
  }
  line.quality = judged == 0   ? "-"
                 : missed == 0 ? "met by all"
                               : fmt::format("{} of {} MISSED", missed, judged);
  return line;
}

}  // namespace harness
