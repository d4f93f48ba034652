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

inline constexpr std::int64_t kMostRuns = 1000;
inline constexpr std::int64_t kMostThreads = 1'000'000;  ///< as the schema of results has it
inline constexpr std::int64_t kMostEpochs = 100'000;
inline constexpr double kMostSeconds = 1e6;  ///< of timed steps

/// Options as given; empty means "by the rules".
struct RunRequest {
  std::string workload{};
  std::optional<std::string> tier{};
  std::optional<std::string> scenario{};
  std::optional<std::string> kernels{};
  std::optional<std::string> precision{};
  std::optional<std::string> allocator{};
  std::optional<std::string> cpus{};
  std::optional<std::string> data{};
  std::optional<std::string> division{};
  std::optional<std::int64_t> batch_size{};
  std::optional<std::int64_t> threads{};
  std::optional<std::int64_t> seed{};
  std::optional<std::int64_t> runs{};
  std::optional<std::int64_t> steps{};  ///< timed ones, in place of the tier's length
  std::optional<double> min_seconds{};  ///< of timed steps, in place of the tier's length
  std::optional<std::int64_t> max_epochs{};
  std::optional<double> quality_target{};
  std::vector<std::string> set{};  ///< KEY=VALUE
  /// Drawn for this run of a series, in place of what `seed` and the rules say.
  std::optional<std::uint32_t> drawn_seed{};
  bool dry_run = false;
};

struct RunPlan {
  const WorkloadEntry* workload = nullptr;
  const Scenario* scenario = nullptr;
  Rules rules{};  ///< as they are in the tier
  std::string tier_name{};
  Tier tier{};  ///< effective lengths (a dry run is shorter), all keys of the scenario
  WorkloadContext context{};
  std::vector<int> cpus{};  ///< empty: no pinning
  std::string division{};   ///< asked for: closed, open, or empty for "as it turns out"
  std::int64_t runs = 1;
  std::optional<double> quality_target{};
  bool dry_run = false;
  nlohmann::json requested = nlohmann::json::object();
  nlohmann::json effective = nlohmann::json::object();
  std::vector<Departure> departures{};  ///< those known before the run
};

/// Throws Error, naming the option, for anything that cannot be run on this machine.
RunPlan make_plan(const RunRequest& request, const std::filesystem::path& home);

/// The seeds of one run of a series: each use has its own, all derived from `run_seed`. `more`
/// names those of the scenario.
Seeds derive_seeds(std::uint32_t run_seed, const std::vector<std::string>& more = {});
/// The seed of run `index` (1-based) of a series that starts from `first`.
std::uint32_t series_seed(std::uint32_t first, std::int64_t index);

/// The request that repeats `result`: its effective settings and seed, as if typed.
RunRequest request_from_result(const Result& result);

}  // namespace harness
