// What every way to drive workloads shares: data, preparation, evaluation, how it ends. The loop
// between them is a scenario's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/scenario/epoch_state.hpp"
#include "harness/scenario/observer.hpp"
#include "harness/scenario/orders.hpp"
#include "harness/scenario/step_timer.hpp"
#include "harness/workload/capabilities.hpp"

namespace harness {

struct SessionHooks {
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
  /// Bytes that this process can still take; empty where nobody knows.
  std::function<std::optional<double>()> memory_left = [] { return std::nullopt; };
  /// With this, each timed step has a neighbour that is recorded (plain, recorded, recorded, plain,
  /// ...): the plain ones are those of the metrics. Null: all are plain.
  StepRecorder* recorder = nullptr;
  /// With this, a run of steps does what it is told once it is warmed up, whatever its tier says.
  StepOrders* orders = nullptr;
  /// The record of each step has its spans.
  bool spans = false;
  /// Called after each timed step, outside its time; not when training to a target, where nothing
  /// is outside.
  std::function<void(double step_seconds)> between_steps{};
};

enum class StopReason {
  kCompleted,     ///< as long as it was to be
  kTargetMissed,  ///< the last epoch's quality was below the target
  kTimeLimit,     ///< max_seconds, or the most units of a result, ran out first
  kNonFinite,     ///< a loss was not a finite number
  kInterrupted,   ///< asked to stop
  kFailed,        ///< the workload threw
};

struct SessionRecord {
  StopReason stop = StopReason::kCompleted;
  std::string stop_detail{};  ///< the workload's error, or which loss at which step
  DataReport data{};
  nlohmann::json preparation = nlohmann::json::object();  ///< seconds per stage, cache clearing
  std::int64_t steps = 0;
  bool lost_rank = false;  ///< it failed because another rank was gone
};

class Session {
 public:
  /// All outlive this, and `context` the workload; the session sets its callbacks, for as long as
  /// it lives. Throws Error where the workload does no steps.
  Session(Workload& workload, WorkloadContext& context, const SessionHooks& hooks,
          const std::vector<Observer*>& observers, SessionRecord& record);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Opens the data, prepares, and runs `loop`. Errors before the first step propagate (there is
  /// nothing to lose); from then on every outcome is in the record.
  void run(const std::function<void()>& loop);
  /// The quality, which `put` hears before the observers do; by `evaluation` where the workload's
  /// own is not meant.
  void evaluate(const std::function<void(const Quality&)>& put,
                const std::function<Quality()>& evaluation = {});

  template <class... Parameters, class... Values>
  void tell(void (Observer::*event)(Parameters...), const Values&... values) const {
    for (Observer* observer : observers_) (observer->*event)(values...);
  }
  void end(StopReason reason, std::string detail);
  /// Whether `mine` holds on one of the ranks; without others it is `mine`.
  bool together(bool mine) const;
  /// Throws Interrupted, on all ranks after the same step.
  void stop_if_asked() const {
    if (stop_asked()) throw Interrupted();
  }
  bool stop_asked() const { return together(hooks_.stop_requested()); }
  /// Ends the run and returns true where a loss of `step` is not finite.
  bool diverged(const StepRecord& step);

  double now() const { return hooks_.clock(); }
  StepTimer& timer() { return timer_; }
  const SessionHooks& hooks() const { return hooks_; }
  Steps& steps() const { return steps_; }

 private:
  void timed(const char* name, const std::function<void()>& work);
  void clear_cache();

  Workload& workload_;
  WorkloadContext& context_;
  const SessionHooks& hooks_;
  const std::vector<Observer*>& observers_;
  SessionRecord& record_;
  Steps& steps_;
  StepTimer timer_;
  /// All ranks are in the loop, where they call equally often.
  bool together_ = false;
};

}  // namespace harness
