#include "harness/scenario/turns.hpp"

#include <algorithm>
#include <utility>

namespace harness {
namespace {

class Rounds {
 public:
  Rounds(const std::vector<Participant>& variants, const AblationOptions& options,
         const SessionHooks& hooks, const std::vector<Observer*>& observers)
      : variants_(variants),
        options_(options),
        session_(variants, hooks, observers, record_),
        held_bytes_(variants.size()) {
    record_.variants.resize(variants.size());
  }

  AblationRecord run() {
    session_.run([this] { loop(); }, [this](std::size_t i) { prepare(i); });
    return std::move(record_);
  }

 private:
  void prepare(std::size_t i) {
    const double before = in_use(i);
    variants_[i].workload->prepare(*variants_[i].context);
    session_.steps(i).begin_steps();
    held_bytes_[i] = in_use(i) - before;
  }

  void loop() {
    session_.tell(&Observer::stage, "steps");
    rounds();
    if (record_.stop != StopReason::kCompleted) return;
    session_.evaluate(
        [this](std::size_t i, const Quality& quality) { record_.variants[i].quality = quality; });
  }

  void rounds() {
    const std::int64_t total = options_.warmup_rounds + options_.rounds;
    const auto steps_per_round =
        static_cast<std::int64_t>(variants_.size()) * options_.steps_per_turn;
    session_.tell(&Observer::length, RunLength{options_.warmup_rounds * steps_per_round,
                                               options_.rounds * steps_per_round, 0});
    start_ = session_.now();
    for (std::int64_t round = 1; round <= total; ++round) {
      std::vector<Turn> turns(variants_.size());
      std::int64_t place = 0;
      for (const std::size_t i : turn_order(round, variants_.size())) {
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
    session_.enter(i);
    const double before = in_use(i);
    for (std::int64_t k = 0; k < options_.steps_per_turn; ++k) {
      if (k > 0) session_.stop_if_asked();
      StepRecord step = session_.timer().time_step(session_.steps(i), start_);
      step.step = ++record_.steps;
      step.warmup = turn.warmup;
      step.variant = variants_[i].name;
      step.round = turn.round;
      add_step(turn, step);
      session_.tell(&Observer::step, step);
      if (session_.diverged(step)) return;
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
    return variants_[i].workload->memory().value_or(MemoryUse{}).in_use;
  }

  // The counters know the process alone, so a variant's share is what it held before its turn and
  // what came on top of that during it.
  void note_memory(std::size_t i, double before) {
    const std::optional<MemoryUse> memory = variants_[i].workload->memory();
    if (!memory) return;
    std::optional<double>& most = record_.variants[i].peak_bytes;
    most = std::max(most.value_or(0), held_bytes_[i] + memory->peak - before);
    held_bytes_[i] += memory->in_use - before;
  }

  const std::vector<Participant>& variants_;
  const AblationOptions& options_;
  AblationRecord record_;
  Session session_;
  std::vector<double> held_bytes_;  ///< in use because of each variant, between turns
  double start_ = 0;
};

}  // namespace

AblationRecord run_turns(const std::vector<Participant>& variants, const AblationOptions& options,
                         const SessionHooks& hooks, const std::vector<Observer*>& observers) {
  return Rounds(variants, options, hooks, observers).run();
}

}  // namespace harness
