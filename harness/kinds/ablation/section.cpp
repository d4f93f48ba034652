#include "harness/kinds/ablation/section.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/base/text.hpp"
#include "harness/kinds/ablation/lines.hpp"
#include "harness/kinds/ablation/plots.hpp"
#include "harness/kinds/ablation/scaling.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {
namespace {

PageCell ratio_cell(const Variant& variant, const Speedup& speedup) {
  if (!speedup.value || speedup.to == variant.name) return {"-"};
  if (is_doubtful(variant)) return {"doubtful", {}, Tone::kDoubt};
  return {ratio_text(*speedup.value), speedup.value->center};
}

std::string how_measured(const Ablation& ablation) {
  if (clusters_of(ablation) == 0) {
    return "All variants lived in one process and took turns, so each was measured in the wake of "
           "another. Each ratio is a median over the rounds; a round gives one pair of turns. "
           "Above 1 is faster.";
  }
  std::string text =
      "Each variant is a process of its own, and only one steps at a time. A cluster is some "
      "rounds, after which all start anew. Each cluster gives one ratio, the median over its "
      "rounds; the intervals are over the clusters. Above 1 is faster.";
  if (const auto joint = joint_confidence(ablation)) {
    text += fmt::format(
        " Each interval holds for itself alone; all against the first variant hold together with "
        "at least {:.0f} %.",
        std::floor(100 * *joint));
  }
  return text;
}

PageTable variants_table(const std::vector<Variant>& variants) {
  PageTable table{.caption = "Variants, in the order of the rules"};
  table.columns = {{"variant"},           {"what it adds"},      {"builds on"},
                   {"median step", true}, {"x first", true},     {"x previous", true},
                   {"x reference", true}, {"peak memory", true}, {"quality"}};
  for (const Variant& variant : variants) {
    PageCell quality{"-"};
    if (variant.quality && variant.quality->passed) {
      const bool passed = *variant.quality->passed;
      quality = {passed ? "met" : "MISSED", {}, passed ? Tone::kGood : Tone::kBad};
    }
    table.rows.push_back({{printable(variant.name, kNameBytes)},
                          {printable(variant.summary)},
                          {printable(variant.to_previous.to, 60)},
                          quantity_cell(variant.median_seconds, "s"),
                          ratio_cell(variant, variant.to_first),
                          ratio_cell(variant, variant.to_previous),
                          ratio_cell(variant, variant.to_reference),
                          quantity_cell(variant.memory.peak_bytes, "B"),
                          quality});
  }
  return table;
}

PageTable scaling_table(const Ablation& ablation) {
  PageTable table{.caption = "Samples a second of each rank, as a share of the smallest world's"};
  table.columns = {{"scaling"},
                   {"ranks", true},
                   {"batch each", true},
                   {"samples a step", true},
                   {"efficiency", true}};
  for (const ScaleRow& row : scale_rows(ablation)) {
    const auto& value = row.efficiency.value;
    table.rows.push_back(
        {{row.strong ? "strong" : "weak"},
         {std::to_string(row.ranks), static_cast<double>(row.ranks)},
         {std::to_string(row.batch), static_cast<double>(row.batch)},
         {std::to_string(row.ranks * row.batch), static_cast<double>(row.ranks * row.batch)},
         value ? PageCell{ratio_text(*value), value->center} : PageCell{"-"}});
  }
  return table;
}

PageTable phases_table(const std::vector<Variant>& variants) {
  PageTable table{.caption = "Phases of the step"};
  table.columns = {{"variant"}, {"phase"}, {"median", true}, {"x reference", true}};
  for (const Variant& variant : variants) {
    for (const VariantPhase& phase : variant.phases) {
      table.rows.push_back({{printable(variant.name, kNameBytes)},
                            {printable(phase.name, kNameBytes)},
                            quantity_cell(phase.median_seconds, "s"),
                            ratio_cell(variant, phase.to_reference)});
    }
  }
  limit_rows(table);
  return table;
}

}  // namespace

PageSection ablation_section(const ReportItem& item, const std::string& id) {
  const auto& ablation = as<Ablation>(item);
  const std::vector<Variant>& variants = ablation.variants;
  const ReportLine line = line_of(item);
  PageSection section{.id = id,
                      .title = fmt::format("Ablation of {} · {} · {}", line.workload,
                                           line.started_at.substr(0, 10), line.status)};
  section.tone = line.tone;
  section.paragraphs.push_back(how_measured(ablation));
  for (const auto& lines : {doubt_lines(ablation), group_lines(ablation)}) {
    section.paragraphs.insert(section.paragraphs.end(), lines.begin(), lines.end());
  }
  section.facts = common_facts(ablation, item.file);
  for (const LeftOut& one : ablation.left_out) {
    section.facts.push_back({"left out", printable(one.name, 60) + ": " + printable(one.reason)});
  }
  for (const Variant& variant : variants) {
    if (!variant.peer) continue;
    section.facts.push_back(
        {"peer", printable(variant.name, 60) + ": " + printable(variant.peer->command, 400)});
  }
  if (!variants.empty()) {
    section.plots = ablation_plots(ablation);
  }
  if (is_scaling(ablation)) section.tables.push_back(scaling_table(ablation));
  section.tables.push_back(variants_table(variants));
  PageTable table = phases_table(variants);
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

}  // namespace harness
