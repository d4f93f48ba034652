// A complete, valid ablation that was made up, for tests of everything that reads one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/kinds/ablation/ablation.hpp"
#include "tests/support/sample_result.hpp"

namespace harness {

/// How long the machine makes a step in each cluster: it drifts, so that only what was in one
/// cluster can be compared.
inline constexpr double kSampleDrift[] = {1, 1.1, 1.2, 1.3, 1.4, 1.5};

inline Turn sample_turn(std::int64_t round, bool warmup, std::size_t order, double seconds) {
  Turn turn;
  turn.round = round;
  turn.warmup = warmup;
  turn.order = static_cast<std::int64_t>(order);
  turn.step_seconds = {seconds};
  turn.phase_seconds = {{"forward", {seconds / 4}}, {"backward", {seconds / 2}}};
  return turn;
}

/// Six clusters of three rounds; a step takes `share` of what the first variant's takes.
inline std::vector<Turn> sample_turns(std::size_t place, std::size_t count, double share) {
  std::vector<Turn> turns;
  for (std::size_t cluster = 0; cluster < 6; ++cluster) {
    for (std::size_t round = 0; round < 3; ++round) {
      turns.push_back(sample_turn(static_cast<std::int64_t>(round + 1), false,
                                  (place + round) % count + 1, kSampleDrift[cluster] * share));
      turns.back().cluster = static_cast<std::int64_t>(cluster + 1);
      turns.back().group = 1;
    }
  }
  return turns;
}

/// As until 1.2.0: six rounds behind two of warm-up, all in one process, forwards and backwards in
/// turn.
inline std::vector<Turn> sample_turns_of_one_process(std::size_t place, std::size_t count,
                                                     double share) {
  std::vector<Turn> turns = {sample_turn(1, true, place + 1, 3 * share),
                             sample_turn(2, true, count - place, 2 * share)};
  for (std::size_t i = 0; i < 6; ++i) {
    turns.push_back(sample_turn(static_cast<std::int64_t>(i + 3), false,
                                i % 2 == 0 ? place + 1 : count - place, kSampleDrift[i] * share));
  }
  return turns;
}

inline Variant sample_variant(const std::string& name, double share) {
  Variant variant;
  variant.name = name;
  variant.summary = "made up";
  variant.settings = {{{"allocator", "system"}, {"precision", "fp32"}}, {{"nothing", "reference"}}};
  variant.memory = {1e9 * share, "made up", ""};
  variant.quality =
      QualityReport{{"scripted-quality", Direction::kHigher, 0.75, "", {}}, 0.5, true, 5};
  return variant;
}

inline const std::vector<std::string> kSampleBases = {"", "out-of-the-box", "pooled", "pooled"};
inline const std::vector<double> kSampleShares = {1, 0.5, 0.2, 0.4};

inline Ablation sample_ablation() {
  Ablation ablation;
  fill_common(ablation);
  ablation.identity.ended_at = "2026-01-31T12:05:00.456Z";
  ablation.settings.effective = {
      {"tier", "quick"},       {"batch_size", 1},           {"threads", 2},
      {"cpus", nullptr},       {"seed", 4294967295U},       {"data", nullptr},
      {"rounds", 3},           {"warmup_steps", 2},         {"steps_per_turn", 1},
      {"quality_target", 0.5}, {"set", {{"pace", "slow"}}}, {"clusters", 6}};
  const std::vector<std::string> names = {"out-of-the-box", "pooled", "nothing", "bf16-reference"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    Variant& variant = ablation.variants.emplace_back(sample_variant(names[i], kSampleShares[i]));
    variant.turns = sample_turns(i, names.size(), kSampleShares[i]);
    if (i > 0) variant.settings.chosen["allocator"] = "pooled";
  }
  ablation.variants[2].settings.kernels = {{"nothing", "custom"}};
  ablation.variants[3].settings.chosen["precision"] = "bf16";
  ablation.left_out = {{"elsewhere", "made for no machine"}};
  summarise(ablation, kSampleBases);
  return ablation;
}

inline Ablation sample_ablation_of_one_process() {
  Ablation ablation = sample_ablation();
  nlohmann::json& effective = ablation.settings.effective;
  effective.erase("clusters");
  effective.erase("warmup_steps");
  effective["rounds"] = 6;
  effective["warmup_rounds"] = 2;
  for (std::size_t i = 0; i < ablation.variants.size(); ++i) {
    ablation.variants[i].turns =
        sample_turns_of_one_process(i, ablation.variants.size(), kSampleShares[i]);
    ablation.variants[i].quality->reached_at_step = 8;
  }
  summarise(ablation, kSampleBases);
  return ablation;
}

/// The last two variants were in memory when the second was not, on a machine twice as fast.
inline Ablation sample_ablation_in_groups() {
  Ablation ablation = sample_ablation();
  std::vector<Turn>& first = ablation.variants[0].turns;
  first.clear();
  const std::vector<Turn> slow = sample_turns(0, 2, 1);
  const std::vector<Turn> fast = sample_turns(0, 3, 0.5);
  for (std::size_t k = 0; k < slow.size(); k += 3) {  // cluster by cluster
    first.insert(first.end(), slow.begin() + static_cast<std::ptrdiff_t>(k),
                 slow.begin() + static_cast<std::ptrdiff_t>(k + 3));
    for (std::size_t round = 0; round < 3; ++round) {
      first.push_back(fast[k + round]);
      first.back().group = 2;
    }
  }
  ablation.variants[1].turns = sample_turns(1, 2, 0.5);
  for (std::size_t i = 2; i < 4; ++i) {
    ablation.variants[i].turns = sample_turns(i - 1, 3, 0.5 * kSampleShares[i]);
    for (Turn& turn : ablation.variants[i].turns) turn.group = 2;
  }
  summarise(ablation, kSampleBases);
  return ablation;
}

/// The peer takes eight tenths of what the first variant takes.
inline Ablation sample_ablation_with_peer() {
  Ablation ablation = sample_ablation();
  Variant& peer = ablation.variants.emplace_back();
  peer.name = "eager";
  peer.summary = "eager 1.0";
  peer.peer = Peer{"python3 eager.py", "eager 1.0", "", {{"eager.py", std::string(64, 'a')}}};
  peer.memory = {std::nullopt, "none", "nobody knows"};
  for (std::size_t i = 0; i < 5; ++i) {
    ablation.variants[i].turns = sample_turns(i, 5, i < 4 ? kSampleShares[i] : 0.8);
  }
  summarise(ablation, {"", "out-of-the-box", "pooled", "pooled", ""});
  return ablation;
}

}  // namespace harness
