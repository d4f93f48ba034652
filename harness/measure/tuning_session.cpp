#include "harness/measure/tuning_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/measure/measure.hpp"
#include "harness/measure/progress.hpp"
#include "harness/measure/replay_session.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/stats/stats.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

struct Candidate {
  std::string name{};
  std::unique_ptr<PreparedPrimitive> primitive{};
  std::vector<double> seconds{};
};

double timed(PreparedPrimitive& primitive) {
  primitive.chill();
  const double start = steady_seconds();
  primitive.run();
  return steady_seconds() - start;
}

class TuningSession {
 public:
  TuningSession(Workload& workload, const RunPlan& plan)
      : candidates_(demand<Tunable>(workload, "workload '" + plan.rules.workload + "'")
                        .candidates(replay_sizes())) {
    record_.instruction_set = candidates_->instruction_set();
  }

  void tune(const TuningProblem& problem, std::int64_t rounds) {
    const std::vector<std::string> names = candidates_->names(problem);
    std::vector<Candidate> ready;
    for (const std::string& name : names) {
      try {
        Candidate candidate{name, candidates_->prepare(problem, name), {}};
        timed(*candidate.primitive);  // code is made and memory touched before anything counts
        ready.push_back(std::move(candidate));
      } catch (const Error& error) {
        record_.notes.push_back(printable(error.what(), 300));
      }
    }
    if (ready.empty()) return;
    for (std::int64_t round = 0; round < rounds; ++round) {
      if (interrupt_requested()) throw Interrupted();
      for (Candidate& candidate : ready) candidate.seconds.push_back(timed(*candidate.primitive));
    }
    TunedProblem tuned{problem, {}, names.front()};
    for (const Candidate& candidate : ready) {
      tuned.line.seconds[candidate.name] = median(candidate.seconds);
    }
    tuned.line.kernel = choose_kernel(tuned.line.seconds, tuned.usual);
    record_.problems.push_back(std::move(tuned));
  }

  TuningRecord& record() { return record_; }

 private:
  std::unique_ptr<KernelCandidates> candidates_;
  TuningRecord record_{};
};

/// One step, so that the workload knows its problems.
std::set<TuningProblem> problems_of(Workload& workload, RunPlan& plan, Progress& progress) {
  ScenarioOptions options{.evaluate = false};
  options.tier.warmup_steps = 0;
  options.tier.min_steps = 1;
  SessionHooks hooks;
  hooks.stop_requested = interrupt_requested;
  hooks.data_opened = [&](const DataReport&) { refuse_if_too_large(workload, plan); };
  const RunRecord record =
      find_scenario("steps").run(workload, plan.context, options, hooks, {&progress});
  if (record.stop == StopReason::kInterrupted) throw Interrupted();
  if (record.stop == StopReason::kFailed || record.stop == StopReason::kNonFinite) {
    throw Error("workload '" + plan.rules.workload + "'", record.stop_detail, "",
                ExitCode::kAborted);
  }
  std::set<TuningProblem> problems;
  for (const KernelChoice& choice : workload.facts().choices) {
    problems.insert({choice.problem, choice.type, choice.pass, plan.context.threads});
  }
  return problems;
}

}  // namespace

std::string choose_kernel(const std::map<std::string, double>& seconds, const std::string& usual) {
  const auto fastest =
      std::min_element(seconds.begin(), seconds.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto known = seconds.find(usual);
  const bool keeps =
      known != seconds.end() && known->second < kWorthAnotherKernel * fastest->second;
  return keeps ? usual : fastest->first;
}

TuningRecord tune(RunPlan& plan, std::int64_t rounds) {
  if (!plan.cpus.empty()) apply_affinity(plan.cpus);
  const std::unique_ptr<Workload> workload = plan.workload->create();
  refuse_if_too_large(*workload, plan);
  demand<Tunable>(*workload, "workload '" + plan.rules.workload + "'");
  Progress progress(stderr, terminal_columns(stderr));
  const std::set<TuningProblem> problems = problems_of(*workload, plan, progress);
  if (problems.empty()) {
    throw Error("workload '" + plan.rules.workload + "'", "ran nothing that a table could choose",
                "--kernels custom");
  }
  progress.stage("tuning");
  TuningSession session(*workload, plan);
  session.record().planned = problems.size();
  try {
    for (const TuningProblem& problem : problems) {
      session.tune(problem, rounds);
      progress.progress("timing candidates", std::ssize(session.record().problems),
                        std::ssize(problems));
    }
  } catch (const Interrupted&) {
    if (session.record().problems.empty()) throw;
  }
  progress.finished();
  if (session.record().problems.empty()) {
    throw Error("tune", "no candidate could run", session.record().notes.front());
  }
  return std::move(session.record());
}

}  // namespace harness
