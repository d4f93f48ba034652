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

#include "harness/result/result.hpp"
#include "harness/run/training_state.hpp"
#include "harness/run/workload.hpp"

namespace harness {

struct Checkpoint {
  std::string stem{};
  Identity identity{};
  /// What must be the same when the run goes on: settings, kernels, rules, program, machine, data.
  nlohmann::json conditions = nlohmann::json::object();
  nlohmann::json environment_before = nlohmann::json::object();
  TrainingState training{};
  std::uint64_t samples_size = 0;  ///< bytes of STEM.jsonl that belong to this state
  std::uint64_t log_size = 0;      ///< bytes of STEM.log
  std::int64_t log_ms = 0;         ///< time of the log's last line
  std::string state_file{};        ///< the workload's, in the same folder
  std::string state_sha256{};
};

/// Writes `workload`'s state and then `checkpoint`, whose state_file and state_sha256 it fills.
/// Throws Error when the disk takes no more; the checkpoint before this one is still there then.
void save_checkpoint(const std::filesystem::path& folder, Checkpoint& checkpoint,
                     const Workload& workload);

/// The checkpoint of that run of a series in `folder`, if there is one. Throws Error for a file
/// that is damaged, or of another version of this format.
std::optional<Checkpoint> find_checkpoint(const std::filesystem::path& folder,
                                          const std::string& series_id, std::int64_t run_index);

/// Lets `workload` go on from the state that `checkpoint` names. Throws Error for one that is
/// damaged.
void restore_workload(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                      Workload& workload);

/// Throws Error naming the first condition that is not what it was.
void expect_same_conditions(const Checkpoint& checkpoint, const nlohmann::json& now);

/// Removes the checkpoint of `stem` and every state it named; nothing is an error.
void remove_checkpoint(const std::filesystem::path& folder, const std::string& stem);

}  // namespace harness
