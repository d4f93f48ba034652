// The result of an ablation: a workload under one variant of the stack after another, interleaved
// in one process. JSON form: results/schema/ablation.schema.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/result_common.hpp"

namespace harness {

inline constexpr const char* kAblationSchemaVersion = "1.2.0";

/// What a variant sets; everything else is the same for all of them.
struct VariantSettings {
  /// Settings in which variants may differ (SettingScope::kVariant), by their names.
  std::map<std::string, std::string> chosen{};
  KernelSet kernels{};

  std::string of(const std::string& name) const {
    const auto found = chosen.find(name);
    return found == chosen.end() ? "" : found->second;
  }

  bool operator==(const VariantSettings&) const = default;
};

/// Each setting of variants at its default, no kernels: what the first variant of a ladder builds
/// on, and what a file has for a setting that it does not hold.
VariantSettings standard_variant();

/// The steps of one variant in one round, run one after another.
struct Turn {
  std::int64_t round = 1;  ///< 1-based, those of the warm-up included
  bool warmup = false;     ///< recorded, but left out of the summary
  std::int64_t order = 1;  ///< 1-based place of the turn within its round
  std::vector<double> step_seconds{};
  /// Phase -> its part of each step, 0 in a step without it.
  std::map<std::string, std::vector<double>> phase_seconds{};
};

/// How many times faster a variant is than the variant `to`.
struct Speedup {
  std::string to{};                 ///< empty where there is none to compare with
  std::optional<Interval> value{};  ///< over the rounds, each a pair
  std::string reason{};             ///< why `value` is missing
};

/// A phase of the step, over the timed rounds.
struct VariantPhase {
  std::string name{};
  double median_seconds = 0;
  Speedup
      to_reference{};  ///< against the same phase of the variant that Variant::to_reference names
};

struct Variant {
  std::string name{};
  std::string summary{};
  VariantSettings settings{};
  std::optional<double> median_seconds{};  ///< of its turns after the warm-up
  Speedup to_first{};                      ///< the first variant: the stack as it comes
  Speedup to_previous{};                   ///< the variant it builds on
  Speedup to_reference{};  ///< reference kernels under the same allocator and precision
  Memory memory{};         ///< its own: what other variants hold is left out
  std::optional<QualityReport> quality{};
  std::vector<VariantPhase> phases{};  ///< by name
  std::vector<Turn> turns{};
};

/// A variant of the rules that this machine or this version cannot run.
struct LeftOut {
  std::string name{};
  std::string reason{};
};

/// `settings.effective` also holds warmup_rounds, rounds and steps_per_turn.
struct Ablation : ResultCommon {
  std::vector<Variant> variants{};  ///< in the order of the rules
  std::vector<LeftOut> left_out{};
};

/// The place of each variant in round `round` (1-based): forwards in odd rounds, backwards in even
/// ones, so that a machine that drifts treats all alike over two rounds.
std::vector<std::size_t> turn_order(std::int64_t round, std::size_t variants);

/// Fills median_seconds, the three speed-ups and the phases of each variant from the turns. A turn
/// counts as one number, the median of its steps: the first one finds the caches as another variant
/// left them. `builds_on` names
/// for each variant the one before it on its ladder, empty for none.
void summarise(Ablation& ablation, const std::vector<std::string>& builds_on);

}  // namespace harness
