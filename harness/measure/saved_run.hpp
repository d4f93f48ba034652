// The saved state of a run that trains to a target: STEM.checkpoint, a small JSON file that says
// where the run stands, and the workload's own state beside it. The JSON file is replaced by a
// rename, after the state it names is on the disk: whatever happens, one whole state is there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/line_file.hpp"
#include "harness/result/result.hpp"
#include "harness/scenario/epoch_state.hpp"
#include "harness/workload/capabilities.hpp"

namespace harness {

struct SavedRun {
  std::string stem{};
  Identity identity{};
  /// What must be the same when the run goes on: settings, kernels, rules, program, machine, data.
  nlohmann::json conditions = nlohmann::json::object();
  nlohmann::json environment_before = nlohmann::json::object();
  EpochState training{};
  WrittenLines samples{};    ///< of STEM.jsonl, those that belong to this state
  WrittenLines log{};        ///< of STEM.log
  std::int64_t log_ms = 0;   ///< time of the log's last line
  std::string state_file{};  ///< the workload's, in the same folder
  std::string state_sha256{};
};

/// Writes `workload`'s state and then `saved`, whose state_file and state_sha256 it fills.
/// Throws Error when the disk takes no more; the one before is still there then.
void save_run(const std::filesystem::path& folder, SavedRun& saved, const Trains& workload);

/// The saved run of that place in a series, in `folder`, if there is one; the run's files are named
/// `first` or, after an earlier try, `first`-N. Throws Error for a file that is damaged, or of
/// another version of this format.
std::optional<SavedRun> find_saved_run(const std::filesystem::path& folder,
                                       const std::string& first, const std::string& series_id,
                                       std::int64_t run_index);
/// Whether there is one, be it damaged.
bool has_saved_run(const std::filesystem::path& folder, const std::string& first);

/// Throws Error when the state that `saved` names is missing or damaged. Reads it whole.
void expect_state(const std::filesystem::path& folder, const SavedRun& saved);

/// Lets `workload` go on from that state.
void restore_workload(const std::filesystem::path& folder, const SavedRun& saved, Trains& workload);

/// Throws Error naming the first of the conditions in `now` that is not what it was. Of another
/// number of ranks the batch of all together has to be.
void expect_same_conditions(const nlohmann::json& before, const nlohmann::json& now);

struct TrainedIn {
  int ranks = 1;
  std::int64_t global_batch_size = 1;
};
/// By whom the run was trained last. Throws Error where the file does not say.
TrainedIn trained_in(const SavedRun& saved);

/// Removes the saved run of `stem` and every state it named; nothing is an error.
void remove_saved_run(const std::filesystem::path& folder, const std::string& stem);
/// The same for all that find_saved_run() looks at.
void remove_saved_runs(const std::filesystem::path& folder, const std::string& first);

}  // namespace harness
