#include "harness/measure/replay_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/measure/measure.hpp"
#include "harness/measure/progress.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/memory_limit.hpp"
#include "harness/system/page_cache.hpp"
#include "harness/system/peaks/sampler.hpp"
#include "harness/system/topology.hpp"

namespace harness {
namespace {

/// Of one primitive in a round: its clock may be slow to rise, and neighbours disturb.
constexpr int kMostRuns = 4;
constexpr std::int64_t kWarmupSteps = 2;
constexpr std::size_t kMostReasons = 8;  ///< in the notes, why something was not replayed
constexpr long long kNoLimit = 1LL << 46;

/// "brgconv:avx512_core" -> "avx512_core": the names of algorithms differ from version to version,
/// those of instruction sets do not.
std::string instructions_of(const std::string& implementation) {
  const std::size_t colon = implementation.rfind(':');
  return colon == std::string::npos ? implementation : implementation.substr(colon + 1);
}

/// Primitives ready to run, some of them missing.
class Replays {
 public:
  Replays(const std::vector<ReplayTask>& tasks, Replayer& replayer, Progress& progress)
      : tasks_(tasks) {
    for (const ReplayTask& task : tasks_) {
      if (interrupt_requested()) throw Interrupted();
      prepared_.push_back(prepare(task, replayer));
      progress.progress("preparing primitives", std::ssize(prepared_), std::ssize(tasks_));
    }
  }

  /// Mean seconds of one call.
  std::vector<std::optional<double>> run() const {
    std::vector<std::optional<double>> seconds;
    for (std::size_t i = 0; i < prepared_.size(); ++i) {
      if (interrupt_requested()) throw Interrupted();
      seconds.push_back(prepared_[i] ? std::optional(mean(i)) : std::nullopt);
    }
    return seconds;
  }

  bool none() const {
    return std::none_of(prepared_.begin(), prepared_.end(),
                        [](const auto& one) { return one != nullptr; });
  }

  /// `as_recorded`: they are to be what was recorded.
  std::vector<std::string> notes(bool as_recorded) const {
    std::vector<std::string> lines;
    std::vector<std::pair<double, std::string>> longest;
    for (const auto& [what, seconds] : refused_) longest.emplace_back(seconds, what);
    std::sort(longest.rbegin(), longest.rend());
    double others = 0;
    for (std::size_t i = 0; i < longest.size(); ++i) {
      if (i >= kMostReasons) {
        others += longest[i].first;
        continue;
      }
      lines.push_back(fmt::format("not replayed, but scaled ({} a step): {}",
                                  format_quantity(longest[i].first, "s"), longest[i].second));
    }
    if (longest.size() > kMostReasons) {
      lines.push_back(fmt::format(
          "not replayed, but scaled ({} a step): for {}", format_quantity(others, "s"),
          format_count(static_cast<long long>(longest.size() - kMostReasons), "more reason")));
    }
    if (as_recorded && on_others_ > 0) {
      lines.push_back(fmt::format("primitives of {} a step ran on other instructions than recorded",
                                  format_quantity(on_others_, "s")));
    }
    return lines;
  }

 private:
  std::unique_ptr<PreparedPrimitive> prepare(const ReplayTask& task, Replayer& replayer) {
    std::unique_ptr<PreparedPrimitive> one;
    try {
      one = replayer.prepare(task.primitive, task.library);
      one->chill();
      one->run();  // code is made and memory touched before anything is timed
    } catch (const Error& error) {
      refused_[fmt::format("{} of {}: {}", task.primitive.kind, task.library, error.why())] +=
          task.recorded_seconds;
      return nullptr;
    }
    if (instructions_of(one->implementation()) != instructions_of(task.primitive.implementation)) {
      on_others_ += task.recorded_seconds;
    }
    return one;
  }

  double mean(std::size_t index) const {
    const int runs = static_cast<int>(std::clamp(tasks_[index].calls, 1.0, double{kMostRuns}));
    double sum = 0;
    for (int i = 0; i < runs; ++i) {
      prepared_[index]->chill();
      const double start = steady_seconds();
      prepared_[index]->run();
      sum += steady_seconds() - start;
    }
    return sum / runs;
  }

  const std::vector<ReplayTask>& tasks_;
  std::vector<std::unique_ptr<PreparedPrimitive>> prepared_{};
  std::map<std::string, double> refused_{};  ///< why -> recorded seconds
  double on_others_ = 0;                     ///< recorded seconds of what took other instructions
};

std::unique_ptr<Replayer> replayer_of(Workload& workload, const RunPlan& plan) {
  return demand<Replayable>(workload, "workload '" + plan.rules.workload + "'")
      .replayer(plan.context, replay_sizes());
}

class ReplaySession {
 public:
  ReplaySession(Workload& workload, const RunPlan& plan, const StepModel& model, Progress& progress)
      : replayer_(replayer_of(workload, plan)),
        tasks_(model.tasks, *replayer_, progress),
        yardsticks_(model.yardsticks, *replayer_, progress),
        sampler_(plan.context.threads) {
    if (!model.tasks.empty() && tasks_.none()) {
      throw Error("the profile", "holds nothing that can be replayed", tasks_.notes(false).front());
    }
    record_.library = replayer_->library();
    record_.notes = tasks_.notes(model.yardsticks.empty());
  }

  void round() {
    ProjectionRound round;
    round.copy_bandwidth = bandwidth();
    round.seconds = tasks_.run();
    round.yardsticks = yardsticks_.run();
    record_.rounds.push_back(std::move(round));
    record_.peaks = sampler_.peaks();
  }

  ReplayRecord& record() { return record_; }

 private:
  double bandwidth() {
    sampler_.burst();
    for (const Peak& peak : sampler_.peaks()) {
      if (peak.tag == "copy.bandwidth" && !peak.samples.empty()) return peak.samples.back();
    }
    return 0;
  }

  std::unique_ptr<Replayer> replayer_;
  Replays tasks_;
  Replays yardsticks_;
  PeakSampler sampler_;
  ReplayRecord record_{};
};

/// A round behind each plain step but the last; each has the mean of the steps around it.
void measure_between(Workload& workload, RunPlan& plan, ReplaySession& session, std::int64_t rounds,
                     Progress& progress) {
  ScenarioOptions options{.evaluate = false};
  options.tier.warmup_steps = kWarmupSteps;
  options.tier.min_steps = rounds + 1;
  std::optional<double> last;
  SessionHooks hooks;
  hooks.stop_requested = interrupt_requested;
  hooks.data_opened = [&](const DataReport&) { refuse_if_too_large(workload, plan); };
  hooks.clear_cache = [](const std::filesystem::path& root) {
    return to_json(clear_page_cache(root));
  };
  hooks.between_steps = [&](double seconds) {
    std::vector<ProjectionRound>& done = session.record().rounds;
    if (last) done.back().measured = (*last + seconds) / 2;
    last = seconds;
    if (std::ssize(done) < rounds) session.round();
  };
  const RunRecord record =
      find_scenario("steps").run(workload, plan.context, options, hooks, {&progress});
  // A round without a step behind it has nothing to be compared with.
  std::erase_if(session.record().rounds, [](const auto& round) { return !round.measured; });
  if (record.stop == StopReason::kFailed || record.stop == StopReason::kNonFinite) {
    throw Error("workload '" + plan.rules.workload + "'", record.stop_detail, "",
                ExitCode::kAborted);
  }
}

}  // namespace

ReplaySizes replay_sizes() {
  // Two regions of as much, and what primitives keep besides.
  constexpr long long kPart = 4;
  const long long cache = last_level_cache_bytes(read_caches(SystemRoot()));
  const long long most = available_memory().bytes.value_or(kNoLimit) / kPart;
  return {static_cast<std::size_t>(cache), static_cast<std::size_t>(most)};
}

ReplayRecord replay(RunPlan& plan, const StepModel& model, const ReplayOptions& options) {
  if (!plan.cpus.empty()) apply_affinity(plan.cpus);
  const std::unique_ptr<Workload> workload = plan.workload->create();
  if (options.measure) refuse_if_too_large(*workload, plan);
  Progress progress(stderr, terminal_columns(stderr));
  progress.stage("replay");
  ReplaySession session(*workload, plan, model, progress);
  if (options.measure) {
    measure_between(*workload, plan, session, options.rounds, progress);
  } else {
    try {
      while (std::ssize(session.record().rounds) < options.rounds) {
        progress.progress("replaying", std::ssize(session.record().rounds), options.rounds);
        session.round();
      }
    } catch (const Interrupted&) {
      // What is whole counts.
    }
    progress.finished();
  }
  if (session.record().rounds.empty()) throw Interrupted();
  return std::move(session.record());
}

}  // namespace harness
