// A complete, valid ablation that was made up, for tests of everything that reads one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/result/ablation.hpp"
#include "tests/support/sample_result.hpp"

namespace harness {

/// A variant whose step takes `share` of what the first one takes in each of eight rounds, the
/// first two of them warm-up. A round's turns go forwards and backwards in turn among `count`
/// variants.
inline Variant sample_variant(const std::string& name, std::size_t place, std::size_t count,
                              double share) {
  Variant variant;
  variant.name = name;
  variant.summary = "made up";
  variant.settings = {{{"allocator", "system"}, {"precision", "fp32"}}, {{"nothing", "reference"}}};
  // The machine drifts: only neighbours in time can be compared.
  const std::vector<double> machine = {3, 2, 1, 1.1, 1.2, 1.3, 1.4, 1.5};
  for (std::size_t i = 0; i < machine.size(); ++i) {
    const auto round = static_cast<std::int64_t>(i + 1);
    const std::size_t order = round % 2 == 1 ? place : count - 1 - place;
    const double seconds = machine[i] * share;
    variant.turns.push_back({round,
                             round <= 2,
                             static_cast<std::int64_t>(order + 1),
                             {seconds},
                             {{"forward", {seconds / 4}}, {"backward", {seconds / 2}}}});
  }
  variant.memory = {1e9 * share, "made up", ""};
  variant.quality =
      QualityReport{{"scripted-quality", Direction::kHigher, 0.75, "", {}}, 0.5, true, 8};
  return variant;
}

inline Ablation sample_ablation() {
  Ablation ablation;
  fill_common(ablation);
  ablation.settings.effective = {
      {"tier", "quick"},       {"batch_size", 1},          {"threads", 2},
      {"cpus", nullptr},       {"seed", 4294967295U},      {"data", nullptr},
      {"rounds", 6},           {"warmup_rounds", 2},       {"steps_per_turn", 1},
      {"quality_target", 0.5}, {"set", {{"pace", "slow"}}}};
  const std::vector<std::string> names = {"out-of-the-box", "pooled", "nothing", "bf16-reference"};
  const std::vector<double> shares = {1, 0.5, 0.2, 0.4};
  for (std::size_t i = 0; i < names.size(); ++i) {
    ablation.variants.push_back(sample_variant(names[i], i, names.size(), shares[i]));
    if (i > 0) ablation.variants[i].settings.chosen["allocator"] = "pooled";
  }
  ablation.variants[2].settings.kernels = {{"nothing", "custom"}};
  ablation.variants[3].settings.chosen["precision"] = "bf16";
  ablation.left_out = {{"elsewhere", "made for no machine"}};
  summarise(ablation, {"", "out-of-the-box", "pooled", "pooled"});
  return ablation;
}

}  // namespace harness
