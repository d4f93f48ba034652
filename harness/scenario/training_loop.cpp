#include "harness/scenario/training_loop.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/metric_kind.hpp"
#include "harness/base/quality.hpp"
#include "harness/base/text.hpp"
#include "harness/scenario/metric_table.hpp"

namespace harness {
namespace {

class Loop {
 public:
  Loop(Workload& workload, const TrainingOptions& options, const RunnerHooks& hooks,
       const std::vector<Observer*>& observers, StepTimer& timer, RunRecord& record)
      : workload_(workload),
        trains_(demand<Trains>(workload, "run")),
        options_(options),
        hooks_(hooks),
        observers_(observers),
        timer_(timer),
        record_(record),
        state_(options.resume_from.value_or(EpochState{})),
        table_(std::move(state_.metrics)),
        seconds_before_(state_.seconds),
        saved_at_(state_.seconds) {}

  void run() {
    try {
      begin();
      while (!ended_) {
        train_epoch();
        if (!ended_) evaluate_epoch();
      }
    } catch (const std::exception&) {
      report();
      throw;
    }
    report();
    for (Observer* observer : observers_) observer->run_end(record_.training->target_reached);
  }

 private:
  double now() const { return seconds_before_ + hooks_.clock() - start_; }

  void begin() {
    const std::int64_t steps = trains_.steps_per_epoch();
    if (steps <= 0) throw Error("run", Trains::kLack.why, Trains::kLack.hint);
    steps_per_epoch_ = steps;
    for (Observer* observer : observers_) {
      observer->length({0, steps, 0, options_.max_epochs});
      observer->stage("train");
    }
    start_ = hooks_.clock();
    if (options_.resume_from) {
      record_.steps = state_.steps;  // there is something to lose before this process's first step
      record_.quality = state_.quality;
      for (Observer* observer : observers_) observer->resumed(state_.resumed.back());
    } else {
      for (Observer* observer : observers_) observer->run_begin();
    }
    trains_.begin_steps();
    timer_.forget();
    if (options_.resume_from) return;
    for (Observer* observer : observers_) {
      observer->data_opened(record_.data.train_samples, record_.data.eval_samples);
    }
  }

  void train_epoch() {
    EpochTotals& totals = state_.totals;
    epoch_start_ = now() - totals.seconds;
    // Saved states lie before what the observers write at an epoch's ends: those who go on from one
    // write it then.
    if (totals.steps == 0) {
      stop_if_asked();
      for (Observer* observer : observers_) observer->epoch_begin(state_.epoch);
    }
    while (totals.steps < steps_per_epoch_) {
      if (options_.max_seconds > 0 && now() >= options_.max_seconds) {
        end(StopReason::kTimeLimit,
            fmt::format("the tier's limit of {} s ran out", options_.max_seconds));
        return;
      }
      const StepRecord step = one_step();
      const std::string trouble = non_finite_loss(step);
      if (!trouble.empty()) {
        end(StopReason::kNonFinite, trouble);
        return;
      }
      stop_if_asked();
      if (now() - saved_at_ >= options_.checkpoint_seconds) save();
    }
    for (Observer* observer : observers_) observer->epoch_end(state_.epoch);
  }

  void stop_if_asked() {
    if (!hooks_.stop_requested()) return;
    save();
    throw Interrupted();
  }

  StepRecord one_step() {
    StepRecord step = timer_.time_step(trains_, start_ - seconds_before_);
    step.step = ++state_.steps;
    step.epoch = state_.epoch;
    state_.samples += step.samples;
    state_.totals.add(step);
    record_.steps = state_.steps;
    for (Observer* observer : observers_) observer->step(step);
    return step;
  }

  void evaluate_epoch() {
    const double trained = now();
    if (const auto memory = workload_.memory()) record_.peak_memory_bytes = memory->peak;
    for (Observer* observer : observers_) observer->evaluation_begin(state_.epoch);
    const Quality quality = evaluate(trained);
    timer_.forget();
    for (Observer* observer : observers_) {
      observer->evaluated(quality, {"", state_.epoch, state_.samples});
    }
    record_.quality = state_.quality = quality;
    const double evaluated = now();
    note_epoch(quality, trained - epoch_start_, evaluated - trained);
    if (quality_passed(quality, options_.target).value_or(false)) {
      target_reached_ = true;
      end(StopReason::kCompleted, "");
    } else if (state_.epoch >= options_.max_epochs) {
      end(StopReason::kTargetMissed,
          "the target was not reached in " + format_count(options_.max_epochs, "epoch"));
    } else {
      ++state_.epoch;
      state_.totals = {};
      save();
    }
  }

  Quality evaluate(double trained) {
    try {
      return trains_.evaluate();
    } catch (const Interrupted&) {
      // The epoch's steps are done: who goes on begins with its evaluation.
      save(trained);
      throw;
    }
  }

  void note_epoch(const Quality& quality, double training, double evaluation) {
    const std::int64_t epoch = state_.epoch;
    const auto put = [&](const char* tag, const char* description, double value) {
      table_.put(standard_metric(tag, description), epoch, false, value);
    };
    put("time.epoch", "training in an epoch, all between its first step and its evaluation",
        training);
    put("time.evaluation", "evaluation after an epoch", evaluation);
    put("time.elapsed", "on the clock when the epoch's evaluation was over", now());
    const auto put_quality = [&](const std::string& name, double value) {
      table_.put({"quality." + name,
                  "1",
                  quality.direction,
                  "quality after an epoch, on the whole evaluation set",
                  {},
                  {},
                  {}},
                 epoch, false, value);
    };
    put_quality(quality.metric, quality.value.value_or(std::numeric_limits<double>::quiet_NaN()));
    for (const auto& [name, value] : quality.details) put_quality(name, value);
    table_.add(state_.totals.mean(epoch), ", mean of an epoch");
  }

  void save() { save(now()); }

  /// The state as it was at `when` on the clock; no step was done since.
  void save(double when) {
    if (!hooks_.save) return;
    state_.seconds = when;
    state_.totals.seconds = state_.totals.steps > 0 ? state_.seconds - epoch_start_ : 0;
    state_.metrics = table_.metrics();
    hooks_.save(state_);
    saved_at_ = now();
  }

  void end(StopReason reason, std::string detail) {
    ended_ = true;
    record_.stop = reason;
    record_.stop_detail = std::move(detail);
  }

  void report() {
    record_.training = TrainingReport{};
    TrainingReport& report = *record_.training;
    report.max_epochs = options_.max_epochs;
    report.steps = state_.steps;
    report.samples = state_.samples;
    report.seconds = now();
    report.target_reached = target_reached_;
    report.resumed = state_.resumed;
    record_.metrics = table_.take();
    if (const Metric* epochs = find_metric(record_.metrics, "time.epoch")) {
      report.epochs = std::ssize(epochs->samples);
    }
    if (!target_reached_) return;
    MetricTable totals(std::move(record_.metrics));
    totals.put(
        standard_metric("time.to-quality",
                        "from the start of the clock to the evaluation that reached the target"),
        report.epochs, false, report.seconds);
    totals.put(standard_metric("epochs.to-quality", "epochs trained until the target was reached"),
               report.epochs, false, static_cast<double>(report.epochs));
    record_.metrics = totals.take();
  }

  Workload& workload_;
  Trains& trains_;
  const TrainingOptions& options_;
  const RunnerHooks& hooks_;
  const std::vector<Observer*>& observers_;
  StepTimer& timer_;
  RunRecord& record_;
  EpochState state_;
  MetricTable table_;
  double seconds_before_;  ///< on the clock before this process
  double saved_at_;        ///< on the clock
  double start_ = 0;       ///< by the clock, of this process
  double epoch_start_ = 0;
  std::int64_t steps_per_epoch_ = 0;
  bool ended_ = false;
  bool target_reached_ = false;
};

}  // namespace

void train_to_target(Workload& workload, const TrainingOptions& options, const RunnerHooks& hooks,
                     const std::vector<Observer*>& observers, StepTimer& timer, RunRecord& record) {
  Loop(workload, options, hooks, observers, timer, record).run();
}

}  // namespace harness
