#include "harness/kinds/ablation/ablation.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/base/named.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

/// What knows nothing of the others: the variants that were in memory together in one cluster.
using Unit = std::pair<std::int64_t, std::int64_t>;  // cluster and group
using Rounds = std::map<std::int64_t, double>;
using Times = std::map<Unit, Rounds>;

/// Seconds of the step, or of one of its phases, in each round; without the warm-up.
Times timed_rounds(const Variant& variant, const std::string& phase = {}) {
  Times times;
  for (const Turn& turn : variant.turns) {
    if (turn.warmup) continue;
    const auto part = turn.phase_seconds.find(phase);
    if (!phase.empty() && part == turn.phase_seconds.end()) continue;
    const std::vector<double>& seconds = phase.empty() ? turn.step_seconds : part->second;
    if (!seconds.empty()) times[{turn.cluster, turn.group}][turn.round] = median(seconds);
  }
  return times;
}

std::optional<double> median_of(const Times& times) {
  std::vector<double> units;
  for (const auto& [unit, rounds] : times) {
    std::vector<double> seconds;
    for (const auto& [round, value] : rounds) seconds.push_back(value);
    units.push_back(median(seconds));
  }
  return units.empty() ? std::nullopt : std::optional(median(units));
}

/// Rounds that both have, in pairs.
struct Pairs {
  std::vector<double> before{};
  std::vector<double> after{};
};

Pairs pairs_of(const Rounds& before, const Rounds& after) {
  Pairs pairs;
  for (const auto& [round, seconds] : after) {
    const auto other = before.find(round);
    if (other == before.end()) continue;
    pairs.before.push_back(other->second);
    pairs.after.push_back(seconds);
  }
  return pairs;
}

/// One ratio for each unit that both have.
std::map<Unit, double> unit_ratios(const Times& before, const Times& after) {
  std::map<Unit, double> ratios;
  for (const auto& [unit, rounds] : after) {
    const auto other = before.find(unit);
    if (other == before.end()) continue;
    const Pairs pairs = pairs_of(other->second, rounds);
    if (!pairs.after.empty()) ratios[unit] = paired_speedup(pairs.before, pairs.after).center;
  }
  return ratios;
}

/// One ratio for each cluster in which both met the first variant, though not each other.
std::vector<double> ratios_by_way_of(const Times& first, const Times& before, const Times& after) {
  std::map<std::int64_t, double> theirs;
  for (const auto& [unit, ratio] : unit_ratios(first, before)) theirs.emplace(unit.first, ratio);
  std::vector<double> ratios;
  for (const auto& [unit, ratio] : unit_ratios(first, after)) {
    const auto other = theirs.find(unit.first);
    if (other != theirs.end()) ratios.push_back(ratio / other->second);
  }
  return ratios;
}

bool measurable(const Times& times) {
  return std::all_of(times.begin(), times.end(), [](const auto& unit) {
    return std::all_of(unit.second.begin(), unit.second.end(),
                       [](const auto& round) { return round.second > 0; });
  });
}

/// Empty without a pair of rounds.
std::optional<Interval> speedup_of(const Times& first, const Times& before, const Times& after) {
  const Unit one_process{0, 0};
  if (after.contains(one_process)) {
    const auto theirs = before.find(one_process);
    if (theirs == before.end()) return std::nullopt;
    const Pairs pairs = pairs_of(theirs->second, after.at(one_process));
    return pairs.after.empty() ? std::nullopt
                               : std::optional(paired_speedup(pairs.before, pairs.after));
  }
  std::vector<double> ratios;
  for (const auto& [unit, ratio] : unit_ratios(before, after)) ratios.push_back(ratio);
  if (ratios.empty()) ratios = ratios_by_way_of(first, before, after);
  return ratios.empty() ? std::nullopt : std::optional(ratio_interval(ratios));
}

Speedup speedup(const Variant& first, const Variant& base, const Variant& variant,
                const std::string& phase = {}) {
  Speedup result;
  result.to = base.name;
  const Times ours = timed_rounds(variant, phase);
  const Times theirs = timed_rounds(base, phase);
  const Times way = timed_rounds(first, phase);
  // No ratio can be formed with such a step, and leaving it out would favour slow ones.
  if (!measurable(ours) || !measurable(theirs) || !measurable(way)) {
    result.reason = "too short for the clock";
    return result;
  }
  result.value = speedup_of(way, theirs, ours);
  if (!result.value) result.reason = "no round was finished after the warm-up";
  return result;
}

bool all_reference(const KernelSet& kernels) {
  return std::all_of(kernels.begin(), kernels.end(),
                     [](const auto& item) { return item.second == "reference"; });
}

bool is_reference_of(const Variant& base, const Variant& variant) {
  return !base.peer && all_reference(base.settings.kernels) &&
         base.settings.chosen == variant.settings.chosen;
}

template <class Matches>
Speedup speedup_to(const std::vector<Variant>& variants, const Variant& variant,
                   const Matches& matches, const char* otherwise) {
  const auto base = std::find_if(variants.begin(), variants.end(), matches);
  if (base == variants.end()) return {"", std::nullopt, otherwise};
  return speedup(variants.front(), *base, variant);
}

std::vector<VariantPhase> summarise_phases(const std::vector<Variant>& variants,
                                           const Variant& variant) {
  std::set<std::string> names;
  for (const Turn& turn : variant.turns) {
    for (const auto& [name, seconds] : turn.phase_seconds) names.insert(name);
  }
  const Variant* base = find_named(variants, variant.to_reference.to);
  std::vector<VariantPhase> phases;
  for (const std::string& name : names) {
    const std::optional<double> seconds = median_of(timed_rounds(variant, name));
    if (!seconds) continue;
    VariantPhase& phase = phases.emplace_back();
    phase.name = name;
    phase.median_seconds = *seconds;
    if (base == nullptr) {
      phase.to_reference.reason = variant.to_reference.reason;
    } else {
      phase.to_reference = speedup(variants.front(), *base, variant, name);
    }
  }
  return phases;
}

}  // namespace

std::int64_t clusters_of(const Ablation& ablation) {
  return ablation.settings.effective.value("clusters", std::int64_t{0});
}

std::vector<std::vector<std::size_t>> groups_of(const Ablation& ablation) {
  std::map<std::int64_t, std::set<std::size_t>> members;
  for (std::size_t i = 0; i < ablation.variants.size(); ++i) {
    for (const Turn& turn : ablation.variants[i].turns) members[turn.group].insert(i);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (const auto& [group, variants] : members)
    groups.emplace_back(variants.begin(), variants.end());
  return groups.empty() ? std::vector<std::vector<std::size_t>>(1) : groups;
}

void summarise(Ablation& ablation, const std::vector<std::string>& builds_on) {
  const std::vector<Variant>& all = ablation.variants;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Variant& variant = ablation.variants[i];
    variant.median_seconds = median_of(timed_rounds(variant));
    variant.to_first = speedup(all.front(), all.front(), variant);
    if (variant.peer) {
      variant.to_previous = {"", std::nullopt, "a peer builds on no variant"};
      variant.to_reference = {"", std::nullopt, "a peer has no settings to compare by"};
    } else {
      variant.to_previous = speedup_to(
          all, variant, [&](const Variant& other) { return other.name == builds_on[i]; },
          i == 0 ? "the first variant builds on no other"
                 : "none of the variants it builds on was measured");
      variant.to_reference = speedup_to(
          all, variant, [&](const Variant& other) { return is_reference_of(other, variant); },
          "reference kernels under this allocator and precision were not measured");
    }
    variant.phases = summarise_phases(all, variant);
  }
}

Speedup speedup_between(const Ablation& ablation, const Variant& base, const Variant& variant) {
  return speedup(ablation.variants.front(), base, variant);
}

std::optional<double> joint_confidence(const Ablation& ablation) {
  double misses = 0;
  bool any = false;
  for (const Variant& variant : ablation.variants) {
    const std::optional<Interval>& value = variant.to_first.value;
    if (!value || !value->low || &variant == &ablation.variants.front()) continue;
    any = true;
    misses += 1 - value->confidence;
  }
  return any ? std::optional(std::max(0.0, 1 - misses)) : std::nullopt;
}

}  // namespace harness
