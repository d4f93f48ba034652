// Runs several variants of a workload in one process, round after round: each variant takes its
// turn in every round, so that what the machine does to one it does to all.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/ablation.hpp"
#include "harness/scenario/runner.hpp"

namespace harness {

/// One variant, alive for the whole ablation. `context` outlives the workload; the runner sets its
/// callbacks.
struct AblationEntry {
  std::string name{};
  Workload* workload = nullptr;
  WorkloadContext* context = nullptr;
};

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

struct AblationRecord {
  StopReason stop = StopReason::kCompleted;
  std::string stop_detail{};  ///< names the variant
  std::vector<VariantRecord> variants{};
  DataReport data{};
  nlohmann::json preparation = nlohmann::json::object();
};

/// Errors before the first step propagate; from then on every outcome is a record, in which only
/// finished rounds count.
AblationRecord run_ablation(const std::vector<AblationEntry>& entries,
                            const AblationOptions& options, const RunnerHooks& hooks,
                            const std::vector<Observer*>& observers);

}  // namespace harness
