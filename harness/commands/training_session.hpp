// What a run that trains to a target has beside its result: the log, the saved states, and what it
// goes on from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/mlperf/training_log.hpp"
#include "harness/result/result.hpp"
#include "harness/run/checkpoint.hpp"
#include "harness/run/plan.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/samples_file.hpp"

namespace harness {

class TrainingSession {
 public:
  /// Begins STEM.log in `out`, or goes on in it from `checkpoint`. `result` holds all that is known
  /// before the run. The references outlive the session.
  TrainingSession(const RunPlan& plan, const Result& result, const std::filesystem::path& out,
                  const std::string& stem, Workload& workload, const SamplesFile& samples,
                  const std::optional<Checkpoint>& checkpoint);

  Observer& log() { return log_; }
  const TrainingOptions& options() const { return options_; }
  /// Lets the runner save states, restore the one to go on from, and hold the data against it.
  void attach(RunnerHooks& hooks);

 private:
  void save(const TrainingState& state);

  std::filesystem::path out_;
  const Workload& workload_;
  const SamplesFile& samples_;
  std::optional<Checkpoint> resumed_from_;
  Checkpoint next_;
  TrainingOptions options_;
  TrainingLog log_;
};

}  // namespace harness
