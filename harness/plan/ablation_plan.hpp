// Which variants of a workload an ablation measures, each with a plan of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.hpp"
#include "harness/result/variant_settings.hpp"

namespace harness {

inline constexpr std::int64_t kMostRounds = 1000;
inline constexpr std::int64_t kMostClusters = 100;

/// A program that steps in turn with the variants (docs/lockstep.md).
struct PeerCommand {
  std::string name{};
  std::string command{};  ///< for /bin/sh
};

struct AblationRequest {
  /// What is the same for all variants; settings of SettingScope::kVariant are theirs.
  RunRequest common{};
  std::optional<std::int64_t> rounds{};  ///< in each cluster
  std::optional<std::int64_t> clusters{};
  std::vector<std::string> variants{};  ///< empty: all of the rules
  std::vector<std::string> peers{};     ///< NAME=CMD
};

/// Worlds in the place of the rules' variants: so many ranks each.
struct ScaleRequest {
  /// What is the same for all; `batch_size` is of each rank of the largest world, `threads` of each
  /// rank.
  RunRequest common{};
  std::optional<std::int64_t> rounds{};
  std::optional<std::int64_t> clusters{};
  std::vector<std::int64_t> ranks{};  ///< rising
};

/// What worlds of growing batches are called, and those that share the largest world's batch.
inline constexpr const char* kWeakWorld = "ranks-";
inline constexpr const char* kStrongWorld = "strong-";

struct VariantPlan {
  std::string name{};
  std::string summary{};
  std::string builds_on{};  ///< the nearest variant below it that is measured too; may be empty
  RunPlan plan{};
  bool world = false;  ///< sets ranks, batch size and threads
};

struct AblationPlan {
  std::vector<VariantPlan> variants{};  ///< in the order of the rules
  std::vector<PeerCommand> peers{};
  std::vector<LeftOut> left_out{};
  std::int64_t rounds = 1;  ///< in each cluster
  std::int64_t clusters = 1;
  std::int64_t steps_per_turn = 1;
  nlohmann::json requested = nlohmann::json::object();
  nlohmann::json effective = nlohmann::json::object();
  std::vector<Departure> departures{};  ///< those known before measuring
};

/// What `plan` sets of that in which variants may differ.
VariantSettings variant_settings_of(const RunPlan& plan);

/// What of `settings` the workload does not have on this machine, in words; empty when all is
/// there.
std::string missing_part(const VariantSettings& settings, const WorkloadInfo& info);

/// Throws Error as make_plan() does, and for rules without an ablation, variants that are unknown
/// or asked for by name but cannot run here, when none is left, for a peer whose name is none or is
/// taken, for more of both than a result holds, and for a tier that trains to a target. All
/// variants get the same seeds. Unless asked for, the rounds are those of the rules or a few more,
/// so that in each cluster every side has every place equally often.
AblationPlan make_ablation_plan(const AblationRequest& request, const std::filesystem::path& home);

/// One variant for each number of ranks with the batch of each rank the same (kWeakWorld), and one
/// with the batch of all ranks the same, that of the largest world (kStrongWorld). Throws Error as
/// make_ablation_plan() does, and for ranks that do not rise, do not share the batch, or do not fit
/// on this machine.
AblationPlan make_scale_plan(const ScaleRequest& request, const std::filesystem::path& home);

}  // namespace harness
