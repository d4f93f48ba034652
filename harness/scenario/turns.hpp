// Runs several variants of a workload in one process, round after round: each variant takes its
// turn in every round, so that what the machine does to one it does to all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/ablation.hpp"
#include "harness/scenario/session.hpp"

namespace harness {

struct AblationOptions {
  std::int64_t warmup_rounds = 0;
  std::int64_t rounds = 1;
  std::int64_t steps_per_turn = 1;
};

struct VariantRecord {
  std::vector<Turn> turns{};  ///< of whole rounds only
  /// Most that this variant held at once: what is in use because of it, the others' share left out.
  std::optional<double> peak_bytes{};
  std::optional<Quality> quality{};
};

struct AblationRecord : SessionRecord {
  std::vector<VariantRecord> variants{};
};

/// Errors before the first step propagate; from then on every outcome is a record, in which only
/// finished rounds count; its stop_detail names the variant. All are alive for the whole ablation.
AblationRecord run_turns(const std::vector<Participant>& variants, const AblationOptions& options,
                         const SessionHooks& hooks, const std::vector<Observer*>& observers);

}  // namespace harness
