#include "harness/kinds/suite/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judgement.hpp"
#include "harness/kinds/suite/lines.hpp"
#include "harness/kinds/suite/rules_check.hpp"
#include "harness/kinds/suite/runs.hpp"
#include "harness/kinds/suite/suite_json.hpp"
#include "harness/measure/identity.hpp"
#include "harness/measure/series.hpp"
#include "harness/plan/division.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

/// A run that nothing came of is worse than one that was aborted, and that than an invalid one.
ExitCode worst_of(ExitCode a, ExitCode b) {
  const auto rank = [](ExitCode code) {
    switch (code) {
      case ExitCode::kOk:
        return 0;
      case ExitCode::kUsage:
        return 3;
      case ExitCode::kAborted:
        return 2;
      default:
        return 1;
    }
  };
  return rank(a) < rank(b) ? b : a;
}

struct Slot {
  const SuiteRunPlan* plan = nullptr;
  std::int64_t number = 0;  ///< 1-based, among those that can be run
  RunSoFar so_far{};
  bool pending = false;  ///< to be measured by this process
  ExitCode code = ExitCode::kOk;
  std::string trouble{};  ///< why there is no result
};

class Runner {
 public:
  /// `machine` is the fingerprint of this one.
  Runner(const SuitePlan& plan, const SeriesState& state, const SuiteTarget& target,
         const std::string& machine)
      : plan_(plan), target_(target) {
    for (const SuiteRunPlan& run : plan.runs) {
      Slot& slot = slots_.emplace_back();
      slot.plan = &run;
      if (!run.left_out.empty()) continue;
      slot.number = ++runs_;
      slot.so_far = run_so_far(target.out, run, state.series_id(), machine);
      slot.pending = !slot.so_far.done;
      adopt(slot);
    }
  }

  /// Throws nothing for a run that fails: the others are measured all the same.
  void measure_all() {
    const StopMessage message("stopping before the next run");
    for (Slot& slot : slots_) {
      if (!slot.pending) continue;
      try {
        if (interrupt_requested()) throw Interrupted();
        if (measured_) cool_down(plan_.pause_seconds);
      } catch (const Interrupted&) {
        stopped_ = true;
        return;
      }
      measure(slot);
      if (!interrupt_requested()) continue;
      stopped_ = true;
      return;
    }
  }

  bool stopped() const { return stopped_; }
  bool complete() const {
    return std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
      return slot.so_far.done || !slot.plan->left_out.empty();
    });
  }
  /// How many runs came to their end.
  std::int64_t ended() const {
    return std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return ran(slot); });
  }
  std::int64_t planned() const { return runs_; }
  const std::vector<Slot>& slots() const { return slots_; }

  ExitCode code() const {
    ExitCode code = ExitCode::kOk;
    for (const Slot& slot : slots_) code = worst_of(code, slot.code);
    return code;
  }

 private:
  static bool ran(const Slot& slot) {
    return slot.so_far.latest && !was_stopped(slot.so_far.latest->run.status);
  }

  void adopt(Slot& slot) {
    if (!ran(slot)) return;
    const Result& run = slot.so_far.latest->run;
    slot.code = exit_code(run.status, target_.strict);
    print_err(task_line(task_of(*slot.plan, *slot.so_far.latest)) +
              (slot.pending ? ", to be measured again\n" : ", measured before\n"));
  }

  void measure(Slot& slot) {
    const SuiteRunPlan& run = *slot.plan;
    const std::string left = time_left();
    print_err(fmt::format("run {} of {}: {}/{}{}\n", slot.number, runs_, run.workload, run.scenario,
                          left.empty() ? "" : ", " + left));
    flush_out();
    std::vector<std::string> arguments = run.arguments;
    arguments.emplace_back("--json");  // of a part of a series nothing is printed
    const ExitCode code = run_child(
        arguments, {{slot.so_far.series_id, 1, 1}, run.plan.context.seeds.run, target_.out});
    measured_ = true;
    slot.pending = false;
    std::optional<RunFile> file = result_of(target_.out, run, slot.so_far.series_id);
    if (!file) {
      slot.code = code == ExitCode::kOk ? ExitCode::kAborted : code;
      slot.trouble = interrupt_requested()
                         ? "it was stopped before it measured anything"
                         : fmt::format("no result: its process ended with exit code {}",
                                       static_cast<int>(code));
      print_err(fmt::format("{}/{}: {}\n", run.workload, run.scenario, slot.trouble));
      return;
    }
    slot.code = exit_code(file->run.status, target_.strict);
    slot.so_far.done = file->run.status.state == RunState::kValid;
    if (!was_stopped(file->run.status)) {
      remove_stopped_tries(run, *file);
      slot.so_far.latest = std::move(file);
    } else if (!ran(slot)) {
      slot.so_far.latest = std::move(file);
    }
    print_err(task_line(task_of(run, *slot.so_far.latest)) + "\n");
  }

  /// Of what is not done yet: by the runs of the same task that are, or by all; before any it is
  /// what the rules ask for at least.
  std::string time_left() const {
    double left = 0;
    bool at_least = false;
    for (const Slot& slot : slots_) {
      if (!slot.pending) continue;
      std::optional<double> seconds = usual_seconds(slot.plan->workload);
      if (!seconds) seconds = usual_seconds("");
      at_least = at_least || !seconds;
      const Tier& tier = slot.plan->plan.tier;
      left += seconds.value_or(tier.min_seconds + tier.key("search_seconds")) + plan_.pause_seconds;
    }
    if (left < 1) return "";
    return fmt::format("{} {} left for all", at_least ? "at least" : "about",
                       format_time_left(left));
  }

  /// With the trials of a set-up, which come before the run begins.
  static double seconds_of(const Slot& slot) {
    const auto& loadgen = slot.so_far.latest->run.loadgen;
    return task_of(*slot.plan, *slot.so_far.latest).run->seconds +
           (loadgen && loadgen->set_up && loadgen->set_up->from.empty() ? loadgen->set_up->seconds
                                                                        : 0);
  }

  /// Mean over the runs that came to their end; an empty `workload` stands for all.
  std::optional<double> usual_seconds(const std::string& workload) const {
    double sum = 0;
    int count = 0;
    for (const Slot& slot : slots_) {
      if (!ran(slot) || (!workload.empty() && slot.plan->workload != workload)) continue;
      sum += seconds_of(slot);
      ++count;
    }
    return count == 0 ? std::nullopt : std::optional(sum / count);
  }

  const SuitePlan& plan_;
  const SuiteTarget& target_;
  std::vector<Slot> slots_{};
  std::int64_t runs_ = 0;
  bool measured_ = false;
  bool stopped_ = false;
};

SuiteTask task_of_slot(const Slot& slot) {
  if (slot.so_far.latest) return task_of(*slot.plan, *slot.so_far.latest);
  SuiteTask task;
  task.workload = slot.plan->workload;
  task.scenario = slot.plan->scenario;
  task.available = slot.plan->left_out.empty();
  task.no_run = !task.available        ? slot.plan->left_out
                : slot.trouble.empty() ? "the suite was stopped before it"
                                       : slot.trouble;
  task.no_figure = task.no_run;
  return task;
}

void judge(Suite& suite, const SuitePlan& plan, const Runner& runner) {
  const Rules rules = plan.rules.as_rules(plan.tier);
  add_departures(suite.rules.departures, rules_departures(rules));
  settle_division(suite.rules, rules, closed_constraints(rules, suite), to_json(suite),
                  plan.settings.requested.value("division", std::string()));
  Status& status = suite.status;
  if (runner.stopped()) {
    mark_aborted(status,
                 fmt::format("stopped when {} of {} had ended", runner.ended(),
                             format_count(runner.planned(), "run")),
                 "harness suite --resume goes on from there");
  } else {
    status.violations = broken_runs(suite);
    status.state = status.violations.empty() ? RunState::kValid : RunState::kInvalid;
  }
  judge_machine(suite);
  std::vector<const Result*> runs;
  for (const Slot& slot : runner.slots()) {
    if (slot.so_far.latest) runs.push_back(&slot.so_far.latest->run);
  }
  for (std::string& advice : advice_on_precision(runs)) {
    status.recommendations.push_back(std::move(advice));
  }
  std::vector<std::string> mistrusted;
  for (const SuiteTask& task : suite.tasks) {
    if (task.run && task.run->mistrusted) mistrusted.push_back(name_of(task));
  }
  if (mistrusted.empty()) return;
  status.mistrusted = true;
  status.mistrust_reasons.push_back("the files of these runs say why they are mistrusted: " +
                                    join(mistrusted, ", "));
}

}  // namespace

SuiteOutcome measure_suite(const SuitePlan& plan, const SeriesState& state,
                           const SuiteTarget& target) {
  Suite suite;
  suite.identity = make_identity({state.series_id(), 1, 1}, target.command_line);
  suite.settings = plan.settings;
  suite.system = capture_system();
  suite.environment_before = capture_environment();
  Runner runner(plan, state, target, system_fingerprint(suite.system));
  runner.measure_all();
  suite.environment_after = capture_environment();
  bool any = false;
  for (const Slot& slot : runner.slots()) {
    suite.tasks.push_back(task_of_slot(slot));
    if (!slot.so_far.latest) continue;
    any = true;
    // Of a suite that was gone on with it began with its first run.
    suite.identity.started_at =
        std::min(suite.identity.started_at, slot.so_far.latest->run.identity.started_at);
  }
  suite.identity.ended_at = std::max(suite.identity.started_at, utc_now());
  SuiteOutcome outcome;
  outcome.code = runner.stopped() ? ExitCode::kAborted : runner.code();
  outcome.complete = runner.complete();
  if (!any) return outcome;
  suite.rules = refer_to(plan.rules.as_rules(plan.tier), plan.tier, {});
  if (target.reference) suite.reference = refer_to(*target.reference);
  suite.no_reference = target.no_reference;
  compare_with(target.reference ? &target.reference->suite : nullptr, suite);
  suite.score = score_of(suite);
  judge(suite, plan, runner);
  outcome.suite = std::move(suite);
  return outcome;
}

}  // namespace harness
