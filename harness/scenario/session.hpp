// What every way to drive workloads shares: data, preparation, evaluation, how it ends. The loop
// between them is a scenario's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/scenario/epoch_state.hpp"
#include "harness/scenario/observer.hpp"
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
  /// With this, each timed step has a neighbour that is recorded (plain, recorded, recorded, plain,
  /// ...): the plain ones are those of the metrics. Null: all are plain.
  StepRecorder* recorder = nullptr;
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
};

/// One workload of a session. `context` outlives the workload; the session sets its callbacks, for
/// as long as it lives.
struct Participant {
  std::string name{};  ///< of a variant; empty where there is only one workload
  Workload* workload = nullptr;
  WorkloadContext* context = nullptr;
};

class Session {
 public:
  /// All but `all` outlive this. Throws Error where a workload does no steps.
  Session(std::vector<Participant> all, const SessionHooks& hooks,
          const std::vector<Observer*>& observers, SessionRecord& record);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Opens the data, prepares each (by `prepare`, where there is more to do about it), and runs
  /// `loop`. Errors before the first step propagate (there is nothing to lose); from then on every
  /// outcome is in the record.
  void run(const std::function<void()>& loop, const std::function<void(std::size_t)>& prepare = {});
  /// The quality of each, which `put` hears before the observers do.
  void evaluate(const std::function<void(std::size_t, const Quality&)>& put);

  template <class... Parameters, class... Values>
  void tell(void (Observer::*event)(Parameters...), const Values&... values) const {
    for (Observer* observer : observers_) (observer->*event)(values...);
  }
  void end(StopReason reason, std::string detail);
  /// Throws Interrupted.
  void stop_if_asked() const;
  /// It is this one's turn; errors name it.
  void enter(std::size_t i);
  /// Ends the run and returns true where a loss of `step` is not finite.
  bool diverged(const StepRecord& step);

  double now() const { return hooks_.clock(); }
  StepTimer& timer() { return timer_; }
  const SessionHooks& hooks() const { return hooks_; }
  Steps& steps(std::size_t i = 0) const { return *steps_[i]; }

 private:
  void timed(const char* name, const std::function<void()>& work);
  void open_data();
  void clear_cache();
  void tell_progress(const std::string& what, std::size_t done) const;

  const std::vector<Participant> all_;
  const SessionHooks& hooks_;
  const std::vector<Observer*>& observers_;
  SessionRecord& record_;
  std::vector<Steps*> steps_;
  StepTimer timer_;
  std::size_t current_ = 0;
};

}  // namespace harness
