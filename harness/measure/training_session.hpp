// What a run that trains to a target has beside its result: the log, the saved states, and what it
// goes on from.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "harness/measure/samples_file.hpp"
#include "harness/measure/saved_run.hpp"
#include "harness/mlperf/training_log.hpp"
#include "harness/plan/plan.hpp"
#include "harness/result/result.hpp"
#include "harness/scenario/session.hpp"

namespace harness {

/// Where a run that goes on from `saved`, with so many ranks, begins.
EpochState going_on_from(const SavedRun& saved, int ranks);

/// Hears of a run's events before its log does.
class TrainingSession : public Observer {
 public:
  /// Begins STEM.log in `out`, or goes on in it from `saved_run`; throws Error, with every file as
  /// it was, where that is not possible. `result` holds all that is known before the run. The
  /// references outlive the session. `saved` is called after the first state was saved.
  TrainingSession(const RunPlan& plan, const Result& result, const std::filesystem::path& out,
                  const std::string& stem, Workload& workload, const SamplesFile& samples,
                  const std::optional<SavedRun>& saved_run, std::function<void()> saved);

  Observer& log() { return log_; }
  /// Where a resumed run goes on.
  std::optional<EpochState> resume_from() const;
  void epoch_end(std::int64_t epoch) override;
  void evaluated(const Quality& quality, const EvaluationPoint& at) override;
  /// Lets the run save states, restore the one to go on from, and hold the data against it.
  void attach(SessionHooks& hooks);

 private:
  /// Fills in how much of the files belongs to a state of this moment.
  void note_files();
  void save(const EpochState& state);

  std::filesystem::path out_;
  int ranks_;
  Trains& trains_;
  const SamplesFile& samples_;
  std::function<void()> saved_;
  std::optional<SavedRun> resumed_from_;
  SavedRun next_;
  bool evaluating_ = false;
  TrainingLog log_;
};

}  // namespace harness
