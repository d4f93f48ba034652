// Runs one workload once: prepare, warm up, timed steps, evaluate. Times steps and phases, stops
// when told, and prints nothing.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/scenario/epoch_state.hpp"
#include "harness/scenario/observer.hpp"
#include "harness/scenario/step_timer.hpp"
#include "harness/workload/capabilities.hpp"

namespace harness {

/// More samples than this make a result file that nobody can read; steps that short want a loop of
/// their own around them.
inline constexpr std::int64_t kMostTimedSteps = 100'000;

/// Of a run that trains to a quality target.
struct TrainingOptions {
  std::int64_t max_epochs = 1;
  double target = 0;
  double max_seconds = 0;                   ///< on the clock; 0: no limit
  double checkpoint_seconds = 0;            ///< least time between states saved within an epoch
  std::optional<EpochState> resume_from{};  ///< its last Resumption is this one
};

struct RunnerOptions {
  std::int64_t warmup_steps = 0;
  std::int64_t min_steps = 1;
  double min_seconds = 0;
  double max_seconds = 0;  ///< from the first step on; 0: no limit
  bool evaluate = true;
  std::optional<TrainingOptions> training{};  ///< then nothing above counts
};

/// What surrounds the steps; each may be empty.
struct RunnerHooks {
  Clock clock = steady_seconds;
  std::function<bool()> stop_requested = [] { return false; };
  /// Called after open_data, when the workload's estimate of its memory knows the data; may throw.
  std::function<void(const DataReport&)> data_opened = [](const DataReport&) {};
  /// Called after that with the folder to drop from the page cache.
  std::function<nlohmann::json(const std::filesystem::path&)> clear_cache{};
  /// Called when the workload is prepared, to load the state that a resumed run goes on from.
  std::function<void()> restore{};
  /// Called by a run that trains to a target, with where it stands; on the clock.
  std::function<void(const EpochState&)> save{};
  /// With this, each timed step has a neighbour that is recorded (plain, recorded, recorded, plain,
  /// ...): the plain ones are those of the metrics. Null: all are plain.
  StepRecorder* recorder = nullptr;
  /// Called after each timed step, outside its time; not when training to a target, where nothing
  /// is outside.
  std::function<void(double step_seconds)> between_steps{};
};

enum class StopReason {
  kCompleted,     ///< minimum steps and seconds were reached
  kTargetMissed,  ///< the last epoch's quality was below the target
  kTimeLimit,     ///< max_seconds, or kMostTimedSteps, ran out first
  kNonFinite,     ///< a loss was not a finite number
  kInterrupted,   ///< asked to stop
  kFailed,        ///< the workload threw
};

struct RunRecord {
  StopReason stop = StopReason::kCompleted;
  std::string stop_detail{};         ///< the workload's error, or which loss at which step
  std::vector<Metric> metrics{};     ///< not yet summarised
  std::optional<Quality> quality{};  ///< as last evaluated
  std::optional<TrainingReport> training{};
  std::optional<double> peak_memory_bytes{};  ///< of the steps; what evaluating takes is left out
  DataReport data{};
  nlohmann::json preparation = nlohmann::json::object();  ///< seconds per stage, cache clearing
  std::int64_t steps = 0;
  bool recording_broke_off = false;  ///< the last step that was recorded did not come to its end
};

/// Errors before the first step propagate (there is nothing to lose); from then on every outcome is
/// a record. `context.phases` is set by the runner.
RunRecord run_workload(Workload& workload, WorkloadContext& context, const RunnerOptions& options,
                       const RunnerHooks& hooks, const std::vector<Observer*>& observers);

}  // namespace harness
