#include "harness/result/ablation.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "harness/result/setting.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

using Rounds = std::map<std::int64_t, double>;

/// Round -> seconds of the step, or of one of its phases; without the warm-up.
Rounds timed_rounds(const Variant& variant, const std::string& phase = {}) {
  Rounds rounds;
  for (const Turn& turn : variant.turns) {
    if (turn.warmup) continue;
    const auto part = turn.phase_seconds.find(phase);
    if (!phase.empty() && part == turn.phase_seconds.end()) continue;
    const std::vector<double>& seconds = phase.empty() ? turn.step_seconds : part->second;
    if (!seconds.empty()) rounds[turn.round] = median(seconds);
  }
  return rounds;
}

std::optional<double> median_of(const Rounds& rounds) {
  std::vector<double> seconds;
  for (const auto& [round, value] : rounds) seconds.push_back(value);
  return seconds.empty() ? std::nullopt : std::optional(median(seconds));
}

Speedup speedup(const Variant& base, const Variant& variant, const std::string& phase = {}) {
  Speedup result;
  result.to = base.name;
  const Rounds ours = timed_rounds(variant, phase);
  const Rounds theirs = timed_rounds(base, phase);
  std::vector<double> before;
  std::vector<double> after;
  for (const auto& [round, seconds] : ours) {
    const auto pair = theirs.find(round);
    if (pair == theirs.end()) continue;
    // No ratio can be formed with such a step, and leaving it out would favour slow ones.
    if (seconds <= 0 || pair->second <= 0) {
      result.reason = "too short for the clock";
      return result;
    }
    before.push_back(pair->second);
    after.push_back(seconds);
  }
  if (before.empty()) {
    result.reason = "no round was finished after the warm-up";
  } else {
    result.value = paired_speedup(before, after);
  }
  return result;
}

bool all_reference(const KernelSet& kernels) {
  return std::all_of(kernels.begin(), kernels.end(),
                     [](const auto& item) { return item.second == "reference"; });
}

bool is_reference_of(const Variant& base, const Variant& variant) {
  return all_reference(base.settings.kernels) && base.settings.chosen == variant.settings.chosen;
}

template <class Matches>
Speedup speedup_to(const std::vector<Variant>& variants, const Variant& variant,
                   const Matches& matches, const char* otherwise) {
  const auto base = std::find_if(variants.begin(), variants.end(), matches);
  if (base == variants.end()) return {"", std::nullopt, otherwise};
  return speedup(*base, variant);
}

std::vector<VariantPhase> summarise_phases(const std::vector<Variant>& variants,
                                           const Variant& variant) {
  std::set<std::string> names;
  for (const Turn& turn : variant.turns) {
    for (const auto& [name, seconds] : turn.phase_seconds) names.insert(name);
  }
  const auto base = std::find_if(variants.begin(), variants.end(), [&](const Variant& other) {
    return other.name == variant.to_reference.to;
  });
  std::vector<VariantPhase> phases;
  for (const std::string& name : names) {
    const std::optional<double> seconds = median_of(timed_rounds(variant, name));
    if (!seconds) continue;
    VariantPhase& phase = phases.emplace_back();
    phase.name = name;
    phase.median_seconds = *seconds;
    if (base == variants.end()) {
      phase.to_reference.reason = variant.to_reference.reason;
    } else {
      phase.to_reference = speedup(*base, variant, name);
    }
  }
  return phases;
}

}  // namespace

std::vector<std::size_t> turn_order(std::int64_t round, std::size_t variants) {
  std::vector<std::size_t> order(variants);
  for (std::size_t i = 0; i < variants; ++i) order[i] = round % 2 == 1 ? i : variants - 1 - i;
  return order;
}

void summarise(Ablation& ablation, const std::vector<std::string>& builds_on) {
  const std::vector<Variant>& all = ablation.variants;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Variant& variant = ablation.variants[i];
    variant.median_seconds = median_of(timed_rounds(variant));
    variant.to_first = speedup(all.front(), variant);
    variant.to_previous = speedup_to(
        all, variant, [&](const Variant& other) { return other.name == builds_on[i]; },
        i == 0 ? "the first variant builds on no other"
               : "none of the variants it builds on was measured");
    variant.to_reference = speedup_to(
        all, variant, [&](const Variant& other) { return is_reference_of(other, variant); },
        "reference kernels under this allocator and precision were not measured");
    variant.phases = summarise_phases(all, variant);
  }
}

VariantSettings standard_variant() {
  VariantSettings settings;
  for (const auto& setting : SettingTable::instance().list()) {
    if (setting->scope != SettingScope::kVariant || setting->name == "kernels") continue;
    settings.chosen[setting->name] = setting->standard;
  }
  return settings;
}

}  // namespace harness
