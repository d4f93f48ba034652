#include "harness/kinds/ablation/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/kinds/ablation/lines.hpp"
#include "harness/kinds/ablation/scaling.hpp"
#include "harness/report/common_text.hpp"

namespace harness {
namespace {

constexpr std::size_t kColumns = 100;

// Three significant digits: 1.35, 13.5, 135.
std::string ratio_digits(double ratio) {
  const int decimals = ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", ratio, decimals);
}

std::string ratio_shown(const Variant& variant, const Speedup& speedup) {
  if (!speedup.value || speedup.to == variant.name) return "-";
  if (is_doubtful(variant)) return "doubtful";
  const Interval& value = *speedup.value;
  if (!value.low || !value.high) return ratio_digits(value.center) + " [-, -]";
  return fmt::format("{} [{}, {}]", ratio_digits(value.center), ratio_digits(*value.low),
                     ratio_digits(*value.high));
}

std::string quality_shown(const Variant& variant) {
  const std::optional<QualityReport>& quality = variant.quality;
  if (variant.peer) return "-";
  if (!quality) return "none";
  if (!quality->passed) return "-";
  return *quality->passed ? "met" : "MISSED";
}

void add_variants(std::string& text, const std::vector<Variant>& variants) {
  constexpr const char* kRow = "{:<15} {:>10}  {:<17} {:<17} {:<17} {:>8} {:>7}\n";
  text += "\n" + fmt::format(kRow, "variant", "median", "x first", "x previous", "x reference",
                             "peak", "quality");
  for (const Variant& variant : variants) {
    const std::optional<double>& seconds = variant.median_seconds;
    const std::optional<double>& bytes = variant.memory.peak_bytes;
    text += fmt::format(
        kRow, printable(variant.name, 15), seconds ? format_quantity(*seconds, "s") : "-",
        ratio_shown(variant, variant.to_first), ratio_shown(variant, variant.to_previous),
        ratio_shown(variant, variant.to_reference), bytes ? format_quantity(*bytes, "B") : "-",
        quality_shown(variant));
  }
}

std::vector<std::string> phase_names(const std::vector<Variant>& variants) {
  std::set<std::string> names;
  for (const Variant& variant : variants) {
    for (const VariantPhase& phase : variant.phases) names.insert(phase.name);
  }
  return {names.begin(), names.end()};
}

// A column for each phase, a row for each variant that has anything to show.
template <typename Cell>
void add_phase_table(std::string& text, const char* title, const std::vector<Variant>& variants,
                     const std::vector<std::string>& names, const Cell& cell) {
  text += fmt::format("\n{:<15}", title);
  for (const std::string& name : names) text += fmt::format(" {:>11}", printable(name, 11));
  text += "\n";
  for (const Variant& variant : variants) {
    std::string row;
    bool empty = true;
    for (const std::string& name : names) {
      const VariantPhase* phase = find_named(variant.phases, name);
      const std::string shown = phase == nullptr ? "" : cell(variant, *phase);
      empty = empty && shown.empty();
      row += fmt::format(" {:>11}", shown.empty() ? "-" : shown);
    }
    if (!empty) text += fmt::format("{:<15}{}\n", printable(variant.name, 15), row);
  }
}

void add_phase_tables(std::string& text, const std::vector<Variant>& variants,
                      const std::vector<std::string>& names) {
  add_phase_table(text, "phase median", variants, names,
                  [](const Variant& /*variant*/, const VariantPhase& phase) {
                    return format_quantity(phase.median_seconds, "s");
                  });
  add_phase_table(text, "x reference", variants, names,
                  [](const Variant& variant, const VariantPhase& phase) {
                    const Speedup& ratio = phase.to_reference;
                    if (!ratio.value || ratio.to == variant.name) return std::string();
                    return ratio_digits(ratio.value->center);
                  });
}

// Too many for a table: the middle and the ends of each variant's speed-ups.
void add_phase_ratios(std::string& text, const std::vector<Variant>& variants) {
  text += "\nphases, x reference\n";
  for (const Variant& variant : variants) {
    double logarithms = 0;
    std::vector<std::pair<double, std::string>> ratios;
    for (const VariantPhase& phase : variant.phases) {
      if (!phase.to_reference.value || phase.to_reference.to == variant.name) continue;
      ratios.emplace_back(phase.to_reference.value->center, phase.name);
      logarithms += std::log(ratios.back().first);
    }
    if (ratios.empty()) continue;
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    text += fmt::format("{:<15} geometric mean {} of {}, least {} ({}), most {} ({})\n",
                        printable(variant.name, 15),
                        ratio_digits(std::exp(logarithms / static_cast<double>(ratios.size()))),
                        ratios.size(), ratio_digits(least->first), printable(least->second, 40),
                        ratio_digits(most->first), printable(most->second, 40));
  }
}

void add_phases(std::string& text, const std::vector<Variant>& variants) {
  constexpr std::size_t kMostColumns = 7;
  const std::vector<std::string> names = phase_names(variants);
  if (names.empty()) return;
  if (names.size() <= kMostColumns) {
    add_phase_tables(text, variants, names);
  } else {
    add_phase_ratios(text, variants);
  }
}

void add_scaling(std::string& text, const Ablation& ablation) {
  if (!is_scaling(ablation)) return;
  constexpr const char* kRow = "{:<8} {:>6} {:>11} {:>15}   {}\n";
  text +=
      "\n" + fmt::format(kRow, "scaling", "ranks", "batch each", "samples a step", "efficiency");
  for (const ScaleRow& row : scale_rows(ablation)) {
    const std::optional<Interval>& value = row.efficiency.value;
    std::string shown = "-";
    if (value) {
      shown = fmt::format("{:.0f} %", 100 * value->center);
      if (value->low && value->high) {
        shown += fmt::format(" [{:.0f}, {:.0f}]", 100 * *value->low, 100 * *value->high);
      }
    }
    text += fmt::format(kRow, row.strong ? "strong" : "weak", row.ranks, row.batch,
                        row.ranks * row.batch, shown);
  }
  text +=
      wrap(
          "efficiency: samples a second of each rank, as a share of those in the smallest world; "
          "weak: each rank has a batch of its own, strong: all share one",
          kColumns, 2) +
      "\n";
}

void add_notes(std::string& text, const Ablation& ablation) {
  const auto add = [&](const std::string& line) { text += wrap(line, kColumns, 2) + "\n"; };
  for (const std::string& line : doubt_lines(ablation)) add(line);
  for (const std::string& line : group_lines(ablation)) add(line);
  if (clusters_of(ablation) > 0) {
    add("x: times faster, the median over the clusters with its 95 % interval; each cluster "
        "started all processes anew and gives one ratio, the median of its rounds");
  } else {
    add("x: times faster, the median over the rounds with its 95 % interval, each round a pair of "
        "turns; all in one process, so one variant was measured in the wake of another and the "
        "intervals promise too much");
  }
  if (const auto joint = joint_confidence(ablation)) {
    add(
        fmt::format("each interval holds for itself alone; all of 'x first' hold together with at "
                    "least {:.0f} %",
                    std::floor(100 * *joint)));
  }
  add("first: the first variant measured here");
  std::string previous = "previous: the variant it builds on, which stands above it";
  for (std::size_t i = 1; i < ablation.variants.size(); ++i) {
    const Variant& variant = ablation.variants[i];
    const std::string& to = variant.to_previous.to;
    if (to.empty() || to == ablation.variants[i - 1].name) continue;
    previous += fmt::format(" ({}: on {})", printable(variant.name, 40), printable(to, 40));
  }
  add(previous);
  add("reference: reference kernels under the same allocator and precision");
  const bool any_interval = std::any_of(
      ablation.variants.begin(), ablation.variants.end(),
      [](const Variant& variant) { return variant.to_first.value && variant.to_first.value->low; });
  if (!any_interval) {
    add(clusters_of(ablation) > 0 ? "note: an interval needs 6 clusters"
                                  : "note: an interval needs 6 timed rounds");
  }
  for (const Variant& variant : ablation.variants) {
    if (!variant.peer) continue;
    add(fmt::format("{} is a peer: {}, by {}", printable(variant.name, 40),
                    printable(variant.peer->version), printable(variant.peer->command)));
  }
  for (const LeftOut& item : ablation.left_out) {
    add(fmt::format("left out {}: {}", printable(item.name, 40), printable(item.reason)));
  }
}

// "6 rounds"; the settings hold numbers, but a file may hold anything.
std::string count_of(const Settings& settings, const char* key, const char* noun) {
  const std::string text = setting_text(settings, key);
  const auto count = parse_integer(text);
  return count ? format_count(*count, noun) : text + " " + noun + "s";
}

}  // namespace

std::string render_summary(const Ablation& ablation) {
  const Settings& settings = ablation.settings;
  const bool in_clusters = clusters_of(ablation) > 0;
  const std::string clusters =
      in_clusters ? count_of(settings, "clusters", "cluster") + " of " : "";
  const std::string warmup = in_clusters ? count_of(settings, "warmup_steps", "step")
                                         : count_of(settings, "warmup_rounds", "round");
  std::string text = fmt::format(
      "{} {} · {} · {}{} · division {}\n", printable(ablation.rules.workload, 40),
      printable(ablation.rules.version, 16),
      is_scaling(ablation)
          ? "scaling over " + format_count(std::ssize(ablation.variants), "world")
          : "ablation of " + format_count(std::ssize(ablation.variants), "variant"),
      clusters, count_of(settings, "rounds", "round"), printable(ablation.rules.division, 16));
  text += fmt::format("batch {} · threads {} · seed {} · warm-up of {}\n",
                      setting_text(settings, "batch_size"), setting_text(settings, "threads"),
                      ablation.seeds.run, warmup);
  text += data_text(ablation.dataset);
  add_variants(text, ablation.variants);
  add_scaling(text, ablation);
  add_notes(text, ablation);
  add_phases(text, ablation.variants);
  return text + closing_text(ablation);
}

}  // namespace harness
