#include "harness/scenario/runner.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "harness/scenario/metric_table.hpp"
#include "harness/scenario/training_loop.hpp"

namespace harness {
namespace {

class Run {
 public:
  Run(Workload& workload, WorkloadContext& context, const RunnerOptions& options,
      const RunnerHooks& hooks, const std::vector<Observer*>& observers)
      : workload_(workload),
        steps_(options.training ? demand<Trains>(workload, "run") : demand<Steps>(workload, "run")),
        context_(context),
        options_(options),
        hooks_(hooks),
        observers_(observers),
        timer_(hooks_.clock) {
    context_.phases = &timer_;
    context_.stopwatch = &timer_;
    context_.progress = [this](const std::string& what, std::int64_t done, std::int64_t total) {
      for (Observer* observer : observers_) observer->progress(what, done, total);
    };
    context_.interrupted = [this] {
      if (hooks_.stop_requested()) throw Interrupted();
    };
  }

  RunRecord execute() {
    prepare();
    try {
      if (options_.training) {
        train_to_target(workload_, *options_.training, hooks_, observers_, timer_, record_);
      } else {
        begin("steps");
        steps_.begin_steps();
        timer_.forget();
        run_steps();
      }
      if (!options_.training && options_.evaluate && record_.stop == StopReason::kCompleted)
        evaluate();
    } catch (const Interrupted&) {
      record_.stop = StopReason::kInterrupted;
      record_.stop_detail = "interrupted";
    } catch (const std::exception& error) {
      if (record_.steps == 0) throw;  // a picture that cannot be decoded, say: nothing to lose yet
      record_.stop = StopReason::kFailed;
      record_.stop_detail = reason(error);
    }
    if (!record_.peak_memory_bytes) note_peak_memory();
    if (!options_.training) record_.metrics = table_.take();
    finish();
    return std::move(record_);
  }

 private:
  void begin(const std::string& stage) {
    for (Observer* observer : observers_) observer->stage(stage);
  }

  // A disk that is full at the very end must not cost the record itself.
  void finish() {
    context_.phases = nullptr;
    context_.stopwatch = nullptr;
    for (Observer* observer : observers_) {
      try {
        observer->finished();
      } catch (const std::exception& error) {
        if (record_.stop_detail.empty()) record_.stop_detail = reason(error);
      }
    }
  }

  double timed(const std::function<void()>& work) {
    const double start = hooks_.clock();
    work();
    return hooks_.clock() - start;
  }

  // The order MLPerf asks for: data verified, caches cleared, model initialised, clock started.
  void prepare() {
    begin("data");
    record_.preparation["data_seconds"] =
        timed([&] { record_.data = workload_.open_data(context_); });
    hooks_.data_opened(record_.data);
    if (hooks_.clear_cache && !record_.data.root.empty()) {
      begin("cache");
      const nlohmann::json cleared = hooks_.clear_cache(record_.data.root);
      record_.preparation["cache_clear"] = cleared;
      const nlohmann::json why = cleared.value("reason", nlohmann::json());
      for (Observer* observer : observers_) {
        observer->cache_cleared(cleared.value("complete", nlohmann::json()) == true,
                                why.is_string() ? why.get<std::string>() : "");
      }
    }
    context_.interrupted();
    begin("prepare");
    record_.preparation["init_seconds"] = timed([&] {
      workload_.prepare(context_);
      if (hooks_.restore) hooks_.restore();
    });
    timer_.forget();
  }

  void run_steps() {
    for (Observer* observer : observers_) {
      const std::int64_t steps = options_.min_steps * (hooks_.recorder != nullptr ? 2 : 1);
      observer->length({options_.warmup_steps, steps, options_.min_seconds});
    }
    const double start = hooks_.clock();
    double timed_seconds = 0;
    std::int64_t timed_steps = 0;
    while (timed_steps < options_.min_steps || timed_seconds < options_.min_seconds ||
           has_to_record(timed_steps)) {
      if (hooks_.stop_requested()) throw Interrupted();
      if (options_.max_seconds > 0 && hooks_.clock() - start >= options_.max_seconds) {
        record_.stop = StopReason::kTimeLimit;
        record_.stop_detail = fmt::format("the tier's limit of {} s ran out", options_.max_seconds);
        return;
      }
      if (timed_steps >= kMostTimedSteps) {
        record_.stop = StopReason::kTimeLimit;
        record_.stop_detail =
            fmt::format("{} steps are the most one result holds", kMostTimedSteps);
        return;
      }
      const StepRecord step = one_step(start);
      if (!step.warmup && !step.recorded) {
        timed_seconds += step.seconds;
        ++timed_steps;
      }
      const std::string trouble = non_finite_loss(step);
      if (!trouble.empty()) {
        record_.stop = StopReason::kNonFinite;
        record_.stop_detail = trouble;
        return;
      }
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
    const bool recorded = is_recorded(record_.steps - options_.warmup_steps);
    StepRecord step = recorded ? recorded_step(start) : timer_.time_step(steps_, start);
    step.step = record_.steps + 1;
    step.warmup = record_.steps < options_.warmup_steps;
    step.recorded = recorded;
    ++record_.steps;
    table_.add(step);
    for (Observer* observer : observers_) observer->step(step);
    return step;
  }

  StepRecord recorded_step(double start) {
    ++recorded_steps_;
    hooks_.recorder->begin_step();
    timer_.tell(hooks_.recorder);
    StepRecord step;
    try {
      step = timer_.time_step(steps_, start);
    } catch (...) {
      record_.recording_broke_off = true;
      timer_.tell(nullptr);
      hooks_.recorder->end_step();
      throw;
    }
    timer_.tell(nullptr);
    hooks_.recorder->end_step();
    return step;
  }

  void note_peak_memory() {
    if (const auto memory = workload_.memory()) record_.peak_memory_bytes = memory->peak;
  }

  void evaluate() {
    begin("evaluate");
    note_peak_memory();
    record_.preparation["evaluation_seconds"] = timed([&] { record_.quality = steps_.evaluate(); });
    for (Observer* observer : observers_) observer->evaluated(*record_.quality, {});
    context_.interrupted();  // not every workload looks while it evaluates
  }

  Workload& workload_;
  Steps& steps_;
  WorkloadContext& context_;
  const RunnerOptions& options_;
  const RunnerHooks& hooks_;
  const std::vector<Observer*>& observers_;
  StepTimer timer_;
  MetricTable table_;
  RunRecord record_;
  std::int64_t recorded_steps_ = 0;
};

}  // namespace

RunRecord run_workload(Workload& workload, WorkloadContext& context, const RunnerOptions& options,
                       const RunnerHooks& hooks, const std::vector<Observer*>& observers) {
  return Run(workload, context, options, hooks, observers).execute();
}

}  // namespace harness
