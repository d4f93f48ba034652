#include "harness/scenario/epochs.hpp"

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

class EpochLoop {
 public:
  EpochLoop(Workload& workload, WorkloadContext& context, const ScenarioOptions& options,
            const SessionHooks& hooks, const std::vector<Observer*>& observers)
      : workload_(workload),
        trains_(demand<Trains>(workload, "run")),
        options_(options),
        tier_(options.tier),
        hooks_(hooks),
        session_(workload, context, hooks, observers, record_),
        state_(options.resume_from.value_or(EpochState{})),
        table_(std::move(state_.metrics)),
        seconds_before_(state_.seconds),
        saved_at_(state_.seconds) {}

  RunRecord run() {
    session_.run([this] { loop(); });
    if (!record_.peak_memory_bytes) note_peak_memory();
    return std::move(record_);
  }

 private:
  void loop() {
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
    session_.tell(&Observer::run_end, record_.training->target_reached);
  }

  double now() const { return seconds_before_ + session_.now() - start_; }

  void begin() {
    const std::int64_t steps = trains_.steps_per_epoch();
    if (steps <= 0) throw Error("run", Trains::kLack.why, Trains::kLack.hint);
    steps_per_epoch_ = steps;
    session_.tell(&Observer::length, RunLength{0, steps, 0, tier_.max_epochs});
    session_.tell(&Observer::stage, "train");
    start_ = session_.now();
    if (options_.resume_from) {
      record_.steps = state_.steps;  // there is something to lose before this process's first step
      record_.quality = state_.quality;
      session_.tell(&Observer::resumed, state_.resumed.back());
    } else {
      session_.tell(&Observer::run_begin);
    }
    trains_.begin_steps();
    session_.timer().forget();
    if (options_.resume_from) return;
    session_.tell(&Observer::data_opened, record_.data.train_samples, record_.data.eval_samples);
  }

  void train_epoch() {
    EpochTotals& totals = state_.totals;
    epoch_start_ = now() - totals.seconds;
    // Saved states lie before what the observers write at an epoch's ends: those who go on from one
    // write it then.
    if (totals.steps == 0) {
      stop_if_asked();
      session_.tell(&Observer::epoch_begin, state_.epoch);
    }
    while (totals.steps < steps_per_epoch_) {
      if (tier_.max_seconds > 0 && session_.together(now() >= tier_.max_seconds)) {
        end(StopReason::kTimeLimit,
            fmt::format("the tier's limit of {} s ran out", tier_.max_seconds));
        return;
      }
      const StepRecord step = one_step();
      ended_ = session_.diverged(step);
      if (ended_) return;
      stop_if_asked();
      if (now() - saved_at_ >= tier_.checkpoint_seconds) save();
    }
    session_.tell(&Observer::epoch_end, state_.epoch);
  }

  void stop_if_asked() {
    if (!session_.stop_asked()) return;
    save();
    throw Interrupted();
  }

  StepRecord one_step() {
    StepRecord step = session_.timer().time_step(trains_, start_ - seconds_before_);
    step.step = ++state_.steps;
    step.epoch = state_.epoch;
    state_.samples += step.samples;
    state_.totals.add(step);
    record_.steps = state_.steps;
    session_.tell(&Observer::step, step);
    return step;
  }

  void evaluate_epoch() {
    const double trained = now();
    note_peak_memory();
    session_.tell(&Observer::evaluation_begin, state_.epoch);
    const Quality quality = evaluate(trained);
    session_.timer().forget();
    session_.tell(&Observer::evaluated, quality, EvaluationPoint{state_.epoch, state_.samples});
    record_.quality = state_.quality = quality;
    const double evaluated = now();
    note_epoch(quality, trained - epoch_start_, evaluated - trained);
    if (quality_passed(quality, options_.quality_target).value_or(false)) {
      target_reached_ = true;
      end(StopReason::kCompleted, "");
    } else if (state_.epoch >= tier_.max_epochs) {
      end(StopReason::kTargetMissed,
          "the target was not reached in " + format_count(tier_.max_epochs, "epoch"));
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
    session_.end(reason, std::move(detail));
  }

  void note_peak_memory() {
    if (const auto memory = workload_.memory()) record_.peak_memory_bytes = memory->peak;
  }

  void report() {
    record_.training = TrainingReport{};
    TrainingReport& report = *record_.training;
    report.max_epochs = tier_.max_epochs;
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
  const ScenarioOptions& options_;
  const Tier& tier_;
  const SessionHooks& hooks_;
  RunRecord record_;
  Session session_;
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

class EpochsScenario : public Scenario {
 public:
  using Scenario::Scenario;
  void check(Workload& workload) const override { demand_of<Trains>(workload); }
  RunRecord run(Workload& workload, WorkloadContext& context, const ScenarioOptions& options,
                const SessionHooks& hooks, const std::vector<Observer*>& observers) const override {
    return EpochLoop(workload, context, options, hooks, observers).run();
  }
};

}  // namespace

std::unique_ptr<Scenario> epochs_scenario() {
  ScenarioInfo info{.name = "epochs",
                    .summary = "epochs of training until the quality target is reached",
                    .unit = "epoch",
                    .metric = "time.epoch",
                    .to_target = true,
                    .gives = MetricTable::of_steps(),
                    .reads = {"max_epochs", "checkpoint_seconds"},
                    .needs = {"max_epochs"}};
  info.gives.insert(info.gives.end(), {"time.epoch", "time.evaluation", "time.elapsed",
                                       "time.to-quality", "epochs.to-quality", "quality."});
  return std::make_unique<EpochsScenario>(std::move(info));
}

}  // namespace harness
