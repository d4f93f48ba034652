// What was asked for (argv or an earlier result) becomes what will be done: one plan, checked whole
// before anything runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/scenario/scenario.hpp"
#include "harness/workload/kernel_set.hpp"
#include "harness/workload/registry.hpp"
#include "harness/workload/rules.hpp"
#include "harness/workload/workload.hpp"

namespace harness {

/// What one of several ranks is told of its machine by who started them.
struct RankShare {
  int ranks_here = 1;  ///< of the world, on this machine
  int threads = 1;     ///< where none are asked for
  int cpus = 1;        ///< dealt to it
};

/// What was asked for: by the names of the settings (result/setting.hpp), `set` as a list of
/// KEY=VALUE. What is not there is left to the rules.
struct RunRequest {
  nlohmann::json settings = nlohmann::json::object();
  /// Drawn for this run of a series, in place of what `seed` and the rules say.
  std::optional<std::uint32_t> drawn_seed{};
  /// Of a process that is one of several ranks, or leads ranks that others start.
  std::optional<RankShare> rank_share{};

  nlohmann::json& operator[](const std::string& name) { return settings[name]; }
  /// Of a text; empty where it was not asked for.
  std::string text(const std::string& name) const { return settings.value(name, std::string()); }
};

struct RunPlan {
  const WorkloadEntry* workload = nullptr;
  const Scenario* scenario = nullptr;
  Rules rules{};  ///< as they are in the tier and scenario
  std::string tier_name{};
  Tier tier{};  ///< effective lengths (a dry run is shorter), all keys of the scenario
  WorkloadContext context{};
  std::vector<int> cpus{};  ///< empty: no pinning
  std::string division{};   ///< asked for: closed, open, or empty for "as it turns out"
  std::int64_t runs = 1;
  int ranks = 1;         ///< processes that share the work of each step
  int ranks_here = 1;    ///< of them, on this machine
  std::string engine{};  ///< that carries words between them
  std::optional<RankShare> rank_share{};
  std::optional<double> quality_target{};
  bool dry_run = false;
  nlohmann::json requested = nlohmann::json::object();
  nlohmann::json effective = nlohmann::json::object();
  std::vector<Departure> departures{};  ///< those known before the run

  /// By a setting's name; null where it was not asked for.
  nlohmann::json asked(const std::string& name) const {
    return requested.value(name, nlohmann::json());
  }
};

/// The rules that were asked for: of a file, or those of the workload. Throws Error.
Rules rules_for(const RunRequest& request, const std::filesystem::path& home);

/// Throws Error, naming the option, for anything that cannot be run on this machine.
RunPlan make_plan(const RunRequest& request, const std::filesystem::path& home);

/// The seeds of one run of a series: each use has its own, all derived from `run_seed`. `more`
/// names those of the scenario.
Seeds derive_seeds(std::uint32_t run_seed, const std::vector<std::string>& more = {});
/// The seed of run `index` (1-based) of a series that starts from `first`.
std::uint32_t series_seed(std::uint32_t first, std::int64_t index);

}  // namespace harness
