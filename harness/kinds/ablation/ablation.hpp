// The result of an ablation: a workload under one variant of the stack after another, each a
// process of its own, in lockstep. JSON form: results/schema/ablation.schema.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/result_common.hpp"
#include "harness/result/variant_settings.hpp"

namespace harness {

inline constexpr const char* kAblationSchemaVersion = "1.4.0";

/// The steps of one variant in one round, run one after another.
struct Turn {
  std::int64_t cluster = 0;  ///< 1-based; 0: all variants lived in one process, as until 1.2.0
  std::int64_t group = 0;    ///< 1-based, of variants that were in memory together; 0: as above
  std::int64_t round = 1;    ///< 1-based in its cluster
  bool warmup = false;       ///< recorded, but left out of the summary; in one process alone
  std::int64_t order = 1;    ///< 1-based place of the turn within its round
  std::vector<double> step_seconds{};
  /// Phase -> its part of each step, 0 in a step without it.
  std::map<std::string, std::vector<double>> phase_seconds{};
};

/// How many times faster a variant is than the variant `to`.
struct Speedup {
  std::string to{};                 ///< empty where there is none to compare with
  std::optional<Interval> value{};  ///< over the clusters, or the rounds of one process
  std::string reason{};             ///< why `value` is missing
};

/// A phase of the step, over the timed rounds.
struct VariantPhase {
  std::string name{};
  double median_seconds = 0;
  Speedup
      to_reference{};  ///< against the same phase of the variant that Variant::to_reference names
};

/// A file that a peer's command names.
struct PeerFile {
  std::string file{};  ///< where it is
  std::string sha256{};
};

/// A program that steps in turn with the variants and is none of them.
struct Peer {
  std::string command{};
  std::string version{};  ///< what it calls itself
  std::string doubt{};    ///< why its times say nothing; empty: nothing is known against them
  std::vector<PeerFile> files{};
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
  std::optional<CostReport> cost{};
  std::optional<QualityReport> quality{};
  std::vector<VariantPhase> phases{};  ///< by name
  std::vector<Turn> turns{};
  /// Of a peer, which has neither settings nor quality, and builds on nothing.
  std::optional<Peer> peer{};
};

/// `settings.effective` also holds rounds and steps_per_turn; where the variants were processes of
/// their own clusters and warmup_steps, each one's before its first turn, else warmup_rounds.
struct Ablation : ResultCommon {
  std::vector<Variant> variants{};  ///< in the order of the rules, peers behind them
  std::vector<LeftOut> left_out{};
  std::vector<Peak> peaks{};  ///< of this machine, sampled between the clusters
};

/// How many clusters were planned; 0 for an ablation of one process.
std::int64_t clusters_of(const Ablation& ablation);

/// Variants that were in memory together, as indices; the first is in each group. One group where
/// nothing was measured.
std::vector<std::vector<std::size_t>> groups_of(const Ablation& ablation);

/// Fills median_seconds, the three speed-ups and the phases of each variant from the turns. A turn
/// counts as one number, the median of its steps: the first one finds the caches as another variant
/// left them. Where there are clusters, a cluster counts as one ratio, the median of its rounds'.
/// Two variants that were never in memory together are compared by way of the first, which always
/// was. `builds_on` names for each variant the one before it on its ladder, empty for none.
void summarise(Ablation& ablation, const std::vector<std::string>& builds_on);

/// How many times faster `variant` is than `base`, both of the ablation, as summarise() has it.
Speedup speedup_between(const Ablation& ablation, const Variant& base, const Variant& variant);

/// Each interval holds for itself alone. All those of Variant::to_first hold together with at least
/// this probability, whatever hangs together with what (Bonferroni). Empty without intervals.
std::optional<double> joint_confidence(const Ablation& ablation);

}  // namespace harness
