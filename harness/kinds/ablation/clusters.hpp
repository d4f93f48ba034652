// The clusters of an ablation: all that is in memory together starts, steps in turn, and ends;
// again and again.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/measure/samples_file.hpp"
#include "harness/plan/ablation_plan.hpp"
#include "harness/result/result.hpp"
#include "harness/scenario/session.hpp"

namespace harness {

struct VariantRecord {
  std::vector<Turn> turns{};       ///< of whole rounds only
  std::optional<Result> result{};  ///< its own, of its first cluster; a peer has none
  std::string says{};              ///< what it calls itself
  std::string doubt{};             ///< of a peer: why its times say nothing; empty for nothing
};

struct AblationRecord {
  std::vector<VariantRecord> variants{};  ///< those of the plan, then its peers
  StopReason stop = StopReason::kCompleted;
  std::string stop_detail{};
  std::vector<std::string> notes{};  ///< what else there is to say against times
  std::vector<Peak> peaks{};         ///< of this machine, where there is work to compare with them
};

/// `groups` are indices of variants and, behind them, peers; the first is in each group. Every turn
/// goes to `samples` as it comes, `say` gets a line for people after each cluster, and the results
/// of the variants lie in `work`, a folder, until they were read. A side that fails is named, with
/// its last words. Throws Error, or Interrupted, before the first whole round; from then on every
/// outcome is a record.
AblationRecord run_ablation_clusters(const AblationPlan& plan,
                                     const std::vector<std::vector<std::size_t>>& groups,
                                     const std::filesystem::path& work, SamplesFile& samples,
                                     const std::function<void(const std::string&)>& say);

}  // namespace harness
