#include "harness/scenario/steps.hpp"

#include <fmt/format.h>

#include "harness/scenario/metric_table.hpp"

namespace harness {
namespace {

class StepLoop {
 public:
  StepLoop(Workload& workload, WorkloadContext& context, const ScenarioInfo& info,
           const ScenarioOptions& options, const SessionHooks& hooks,
           const std::vector<Observer*>& observers)
      : workload_(workload),
        info_(info),
        options_(options),
        hooks_(hooks),
        session_(workload, context, hooks, observers, record_) {}

  RunRecord run() {
    session_.run([this] { loop(); });
    if (!record_.peak_memory_bytes) note_peak_memory();
    record_.metrics = table_.take();
    return std::move(record_);
  }

 private:
  void loop() {
    session_.tell(&Observer::stage, "steps");
    session_.steps().begin_steps();
    session_.timer().forget();
    if (hooks_.orders != nullptr) return follow_orders();
    run_steps();
    if (options_.evaluate && record_.stop == StopReason::kCompleted) evaluate();
  }

  void evaluate() {
    note_peak_memory();
    session_.evaluate([this](const Quality& quality) { record_.quality = quality; });
  }

  void follow_orders() {
    const double start = session_.now();
    if (!take_steps(options_.tier.warmup_steps, start)) return;
    while (true) {
      const StepOrder order = hooks_.orders->next();
      if (order.kind == OrderKind::kFinish) return;
      if (order.kind == OrderKind::kEvaluate) {
        evaluate();
      } else if (!take_steps(order.count, start)) {
        return;
      }
    }
  }

  /// False where the run has ended with one of them.
  bool take_steps(std::int64_t count, double start) {
    for (std::int64_t i = 0; i < count; ++i) {
      session_.stop_if_asked();
      const StepRecord step = one_step(start);
      if (session_.diverged(step)) return false;
    }
    return true;
  }

  void run_steps() {
    const Tier& tier = options_.tier;
    const std::int64_t steps = tier.min_steps * (hooks_.recorder != nullptr ? 2 : 1);
    session_.tell(&Observer::length, RunLength{tier.warmup_steps, steps, tier.min_seconds});
    const double start = session_.now();
    double timed_seconds = 0;
    std::int64_t timed_steps = 0;
    while (timed_steps < tier.min_steps || timed_seconds < tier.min_seconds ||
           has_to_record(timed_steps)) {
      session_.stop_if_asked();
      if (tier.max_seconds > 0 && session_.together(session_.now() - start >= tier.max_seconds)) {
        session_.end(StopReason::kTimeLimit,
                     fmt::format("the tier's limit of {} s ran out", tier.max_seconds));
        return;
      }
      if (timed_steps >= info_.most_units) {
        session_.end(StopReason::kTimeLimit,
                     fmt::format("{} steps are the most one result holds", info_.most_units));
        return;
      }
      const StepRecord step = one_step(start);
      if (!step.warmup && !step.recorded) {
        timed_seconds += step.seconds;
        ++timed_steps;
      }
      if (session_.diverged(step)) return;
      if (!step.warmup && !step.recorded && hooks_.between_steps)
        hooks_.between_steps(step.seconds);
    }
  }

  bool has_to_record(std::int64_t plain) const {
    return hooks_.recorder != nullptr && recorded_steps_ < plain;
  }

  // A plain step and a recorded one make a pair; every second pair runs the other way round, so
  // that drift weighs on both alike.
  bool is_recorded(std::int64_t steps_after_warmup) const {
    return hooks_.recorder != nullptr && steps_after_warmup >= 0 &&
           (steps_after_warmup % 4 == 1 || steps_after_warmup % 4 == 2);
  }

  StepRecord one_step(double start) {
    const std::int64_t warmup = options_.tier.warmup_steps;
    const bool recorded = is_recorded(record_.steps - warmup);
    StepRecord step =
        recorded ? recorded_step(start)
                 : session_.timer().time_step(session_.steps(), start, hooks_.orders != nullptr);
    step.step = record_.steps + 1;
    step.warmup = record_.steps < warmup;
    step.recorded = recorded;
    ++record_.steps;
    table_.add(step);
    session_.tell(&Observer::step, step);
    return step;
  }

  StepRecord recorded_step(double start) {
    ++recorded_steps_;
    hooks_.recorder->begin_step();
    session_.timer().tell(hooks_.recorder);
    StepRecord step;
    try {
      step = session_.timer().time_step(session_.steps(), start);
    } catch (...) {
      record_.recording_broke_off = true;
      session_.timer().tell(nullptr);
      hooks_.recorder->end_step();
      throw;
    }
    session_.timer().tell(nullptr);
    hooks_.recorder->end_step();
    return step;
  }

  void note_peak_memory() {
    if (const auto memory = workload_.memory()) record_.peak_memory_bytes = memory->peak;
  }

  Workload& workload_;
  const ScenarioInfo& info_;
  const ScenarioOptions& options_;
  const SessionHooks& hooks_;
  RunRecord record_;
  Session session_;
  MetricTable table_;
  std::int64_t recorded_steps_ = 0;
};

class StepsScenario : public Scenario {
 public:
  using Scenario::Scenario;
  void check(Workload& workload) const override { demand_of<Steps>(workload); }
  RunRecord run(Workload& workload, WorkloadContext& context, const ScenarioOptions& options,
                const SessionHooks& hooks, const std::vector<Observer*>& observers) const override {
    return StepLoop(workload, context, info(), options, hooks, observers).run();
  }
};

}  // namespace

std::unique_ptr<Scenario> steps_scenario() {
  return std::make_unique<StepsScenario>(
      ScenarioInfo{.name = "steps",
                   .summary = "a number of steps, each timed on its own",
                   .unit = "step",
                   .metric = "time.step",
                   .gives = MetricTable::of_steps(),
                   .reads = {"warmup_steps", "min_steps", "min_seconds"}});
}

}  // namespace harness
