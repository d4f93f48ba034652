#include "harness/scenario/ablation_runner.hpp"

#include <algorithm>
#include <utility>

#include "harness/base/error.hpp"

namespace harness {
namespace {

class Run {
 public:
  Run(const std::vector<AblationEntry>& entries, const AblationOptions& options,
      const RunnerHooks& hooks, const std::vector<Observer*>& observers)
      : entries_(entries),
        options_(options),
        hooks_(hooks),
        observers_(observers),
        timer_(hooks_.clock),
        held_bytes_(entries.size()) {
    record_.variants.resize(entries.size());
    for (const AblationEntry& entry : entries) {
      steps_of_.push_back(&demand<Steps>(*entry.workload, entry.name));
      WorkloadContext& context = *entry.context;
      context.phases = &timer_;
      context.stopwatch = &timer_;
      context.progress = [this](const std::string& what, std::int64_t done, std::int64_t total) {
        tell_progress(what, done, total);
      };
      context.interrupted = [this] { stop_if_asked(); };
    }
  }

  AblationRecord execute() {
    prepare();
    begin("steps");
    try {
      rounds();
      if (record_.stop == StopReason::kCompleted) evaluate();
    } catch (const Interrupted&) {
      record_.stop = StopReason::kInterrupted;
      record_.stop_detail = "interrupted";
    } catch (const std::exception& error) {
      if (steps_ == 0) throw;
      record_.stop = StopReason::kFailed;
      record_.stop_detail = current_ + ": " + reason(error);
    }
    finish();
    return std::move(record_);
  }

 private:
  void begin(const std::string& stage) {
    for (Observer* observer : observers_) observer->stage(stage);
  }

  void tell_progress(const std::string& what, std::int64_t done, std::int64_t total) {
    for (Observer* observer : observers_) observer->progress(what, done, total);
  }

  void stop_if_asked() const {
    if (hooks_.stop_requested()) throw Interrupted();
  }

  // A disk that is full at the very end must not cost the record itself.
  void finish() {
    for (const AblationEntry& entry : entries_) {
      entry.context->phases = nullptr;
      entry.context->stopwatch = nullptr;
    }
    for (Observer* observer : observers_) {
      try {
        observer->finished();
      } catch (const std::exception& error) {
        if (record_.stop_detail.empty()) record_.stop_detail = reason(error);
      }
    }
  }

  template <class Work>
  void timed(const char* name, const Work& work) {
    const double start = hooks_.clock();
    work();
    record_.preparation[name] = hooks_.clock() - start;
  }

  void prepare() {
    begin("data");
    timed("data_seconds", [&] { open_data(); });
    hooks_.data_opened(record_.data);
    if (hooks_.clear_cache && !record_.data.root.empty()) {
      begin("cache");
      record_.preparation["cache_clear"] = hooks_.clear_cache(record_.data.root);
    }
    begin("prepare");
    timed("init_seconds", [&] {
      for (std::size_t i = 0; i < entries_.size(); ++i) {
        stop_if_asked();
        tell_progress("preparing " + entries_[i].name, static_cast<std::int64_t>(i),
                      static_cast<std::int64_t>(entries_.size()));
        const double before = in_use(i);
        entries_[i].workload->prepare(*entries_[i].context);
        steps_of_[i]->begin_steps();
        held_bytes_[i] = in_use(i) - before;
      }
    });
    timer_.forget();
  }

  // Verified once: the others take over what the first has opened, where they can.
  void open_data() {
    record_.data = entries_.front().workload->open_data(*entries_.front().context);
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      stop_if_asked();
      Workload& workload = *entries_[i].workload;
      if (workload.share_data(*entries_.front().workload)) continue;
      workload.open_data(*entries_[i].context);
    }
  }

  void rounds() {
    const std::int64_t total = options_.warmup_rounds + options_.rounds;
    const auto steps_per_round =
        static_cast<std::int64_t>(entries_.size()) * options_.steps_per_turn;
    for (Observer* observer : observers_) {
      observer->length(
          {options_.warmup_rounds * steps_per_round, options_.rounds * steps_per_round, 0});
    }
    start_ = hooks_.clock();
    for (std::int64_t round = 1; round <= total; ++round) {
      std::vector<Turn> turns(entries_.size());
      std::int64_t place = 0;
      for (const std::size_t i : turn_order(round, entries_.size())) {
        turns[i] = {round, round <= options_.warmup_rounds, ++place, {}, {}};
        take_turn(i, turns[i]);
        if (record_.stop != StopReason::kCompleted) return;
      }
      for (std::size_t i = 0; i < turns.size(); ++i) {
        record_.variants[i].turns.push_back(std::move(turns[i]));
      }
    }
  }

  void take_turn(std::size_t i, Turn& turn) {
    const AblationEntry& entry = entries_[i];
    current_ = entry.name;
    stop_if_asked();
    entry.workload->activate();
    const double before = in_use(i);
    for (std::int64_t k = 0; k < options_.steps_per_turn; ++k) {
      if (k > 0) stop_if_asked();
      StepRecord step = timer_.time_step(*steps_of_[i], start_);
      step.step = ++steps_;
      step.warmup = turn.warmup;
      step.variant = entry.name;
      step.round = turn.round;
      add_step(turn, step);
      for (Observer* observer : observers_) observer->step(step);
      const std::string trouble = non_finite_loss(step);
      if (trouble.empty()) continue;
      record_.stop = StopReason::kNonFinite;
      record_.stop_detail = entry.name + ": " + trouble;
      return;
    }
    note_memory(i, before);
  }

  static void add_step(Turn& turn, const StepRecord& step) {
    const std::size_t before = turn.step_seconds.size();
    turn.step_seconds.push_back(step.seconds);
    for (const auto& [name, seconds] : step.phases) {
      std::vector<double>& parts = turn.phase_seconds[name];
      parts.resize(before, 0);
      parts.push_back(seconds);
    }
    for (auto& [name, parts] : turn.phase_seconds) parts.resize(before + 1, 0);
  }

  double in_use(std::size_t i) const {
    return entries_[i].workload->memory().value_or(MemoryUse{}).in_use;
  }

  // The counters know the process alone, so a variant's share is what it held before its turn and
  // what came on top of that during it.
  void note_memory(std::size_t i, double before) {
    const std::optional<MemoryUse> memory = entries_[i].workload->memory();
    if (!memory) return;
    std::optional<double>& most = record_.variants[i].peak_bytes;
    most = std::max(most.value_or(0), held_bytes_[i] + memory->peak - before);
    held_bytes_[i] += memory->in_use - before;
  }

  void evaluate() {
    begin("evaluate");
    timed("evaluation_seconds", [&] {
      for (std::size_t i = 0; i < entries_.size(); ++i) {
        current_ = entries_[i].name;
        stop_if_asked();
        tell_progress("quality of " + current_, static_cast<std::int64_t>(i),
                      static_cast<std::int64_t>(entries_.size()));
        entries_[i].workload->activate();
        record_.variants[i].quality = steps_of_[i]->evaluate();
        for (Observer* observer : observers_) {
          observer->evaluated(*record_.variants[i].quality, {current_});
        }
      }
      stop_if_asked();
    });
  }

  const std::vector<AblationEntry>& entries_;
  const AblationOptions& options_;
  const RunnerHooks& hooks_;
  const std::vector<Observer*>& observers_;
  std::vector<Steps*> steps_of_;
  StepTimer timer_;
  std::vector<double> held_bytes_;  ///< in use because of each variant, between turns
  std::string current_;             ///< the variant whose turn it is
  std::int64_t steps_ = 0;
  double start_ = 0;
  AblationRecord record_;
};

}  // namespace

AblationRecord run_ablation(const std::vector<AblationEntry>& entries,
                            const AblationOptions& options, const RunnerHooks& hooks,
                            const std::vector<Observer*>& observers) {
  return Run(entries, options, hooks, observers).execute();
}

}  // namespace harness
