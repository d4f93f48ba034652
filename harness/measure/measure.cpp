#include "harness/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judgement.hpp"
#include "harness/measure/cost_report.hpp"
#include "harness/measure/kept_weights.hpp"
#include "harness/measure/peak_schedule.hpp"
#include "harness/measure/progress.hpp"
#include "harness/measure/ranks/rank_of_run.hpp"
#include "harness/measure/run_files.hpp"
#include "harness/measure/samples_file.hpp"
#include "harness/measure/stop_notice.hpp"
#include "harness/measure/trace_file.hpp"
#include "harness/measure/training_session.hpp"
#include "harness/profile/attribution.hpp"
#include "harness/result/result_json.hpp"
#include "harness/result/step_seconds.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/stats/stats.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/doctor.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/hardware_counters.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/memory_limit.hpp"
#include "harness/system/page_cache.hpp"

namespace harness {
namespace {

using nlohmann::json;

Memory report_memory(const RunRecord& record) {
  Memory memory;
  memory.peak_bytes = record.peak_memory_bytes;
  memory.source = "the workload's allocator counters, all steps";
  if (!memory.peak_bytes) {
    memory.source = "none";
    memory.reason = "this workload has no allocator of its own";
  }
  return memory;
}

void judge(Result& result, const RunPlan& plan, const RunRecord& record, bool profiled) {
  const json document = to_json(result);
  settle_division(result.rules, plan.rules, plan.rules.closed, document, plan.division);

  Status& status = result.status;
  if (record.stop == StopReason::kInterrupted || record.stop == StopReason::kFailed ||
      (profiled && record.stop != StopReason::kCompleted)) {
    mark_aborted(status, record.stop_detail,
                 record.training
                     ? "harness run --resume goes on from its last saved state, or begins it anew"
                 : record.stop == StopReason::kFailed
                     ? "mend that, and run again for a valid result"
                     : "run again for a valid result");
  } else if (profiled) {
    // Whether it is long enough for a measurement is not asked of it.
    status.state = RunState::kValid;
  } else if (plan.dry_run) {
    status.state = RunState::kDryRun;
    status.recommendations.push_back("a dry run is no measurement: leave --dry-run out to measure");
  } else {
    status.violations = check_rules(plan.rules, plan.scenario->info(), result, document);
    if (plan.division == "closed" && !result.rules.departures.empty()) {
      const Departure& first = result.rules.departures.front();
      status.violations.push_back(
          {"closed-division", first.path, first.expected, first.actual, "use --division open"});
    }
    status.state = status.violations.empty() ? RunState::kValid : RunState::kInvalid;
    if (record.training && !record.training->target_reached) {
      // As MLPerf has it: a run that does not converge is aborted, whatever ended it.
      status.state = RunState::kAborted;
      std::erase_if(status.violations, [](const Violation& violation) {
        // Said by the one that follows, or for want of a whole epoch.
        return violation.rule == "quality-target" || violation.rule == "metric-present";
      });
      status.violations.insert(status.violations.begin(),
                               {kConvergedRule, "/training/target_reached", "true",
                                record.stop_detail, "its samples tell how the losses went"});
    }
  }
}

/// Evaluations that gave no number: none of them can reach a target, whatever the model learned.
void remark_on_missing_quality(Result& result) {
  if (!result.training || !result.quality) return;
  const Metric* quality = find_metric(result.metrics, "quality." + result.quality->quality.metric);
  if (quality == nullptr) return;
  std::vector<std::string> epochs;
  for (const Sample& sample : quality->samples) {
    if (!sample.value) epochs.push_back(fmt::format("{} ({})", sample.step, sample.reason));
  }
  if (epochs.empty()) return;
  constexpr std::size_t kMostNamed = 8;
  const std::size_t more = epochs.size() - std::min(epochs.size(), kMostNamed);
  epochs.resize(epochs.size() - more);
  result.status.recommendations.push_back(fmt::format(
      "no {} was found after epoch {}{}: such an epoch cannot reach the target; look at the losses",
      result.quality->quality.metric, join(epochs, ", "),
      more > 0 ? fmt::format(" and {} more", more) : ""));
}

void remark_on_slow_precision(Result& result, const std::string& precision) {
  if (precision == "fp32") return;
  const Finding finding = judge_narrow(result.peaks, precision);
  if (finding.how.empty()) return;
  result.status.recommendations.push_back(finding.what + ": " + finding.how);
}

/// A choice by speed alone may miss the target.
void remark_on_chosen_precision(Result& result) {
  if (!result.loadgen || !result.loadgen->set_up) return;
  const std::vector<SetUpTrial>& trials = result.loadgen->set_up->trials;
  const std::string& chosen = best_set_up(trials).precision;
  const bool missed =
      std::any_of(result.status.violations.begin(), result.status.violations.end(),
                  [](const Violation& violation) { return violation.rule == "quality-target"; });
  if (!missed || chosen == trials.front().precision) return;
  result.status.recommendations.push_back(
      fmt::format("{} was chosen because it is faster: --precision {} measures without it", chosen,
                  trials.front().precision));
}

bool ran_to_its_end(const RunRecord& record) {
  return record.stop == StopReason::kCompleted || record.stop == StopReason::kTargetMissed;
}

void open_samples(std::optional<SamplesFile>& samples, const RunPlan& plan, const MeasureTask& task,
                  const Result& result) {
  if (plan.context.rank() > 0) {
    // Of this process alone, resumed or not.
    const std::string stem = fmt::format("{}.rank-{}", task.stem, plan.context.rank());
    samples.emplace(task.out / (free_stem(stem, task.out) + ".jsonl"),
                    json{{"run", result.identity.uuid}, {"rank", plan.context.rank()}});
    return;
  }
  const std::filesystem::path path = task.out / (task.stem + ".jsonl");
  if (task.saved_run) {
    samples.emplace(path, task.saved_run->samples);
    return;
  }
  samples.emplace(path, json{{"run", result.identity.uuid},
                             {"series", result.identity.series_id},
                             {"workload", plan.rules.workload},
                             {"tier", plan.tier_name},
                             {"seed", result.seeds.run},
                             {"schema_version", kResultSchemaVersion},
                             {"at", result.identity.started_at}});
}

SessionHooks make_hooks(const RunPlan& plan, Workload& workload, PeakSchedule& peaks) {
  SessionHooks hooks;
  hooks.stop_requested = interrupt_requested;
  hooks.memory_left = memory_left;
  hooks.data_opened = [&](const DataReport&) { refuse_if_too_large(workload, plan); };
  hooks.clear_cache = [](const std::filesystem::path& root) {
    return to_json(clear_page_cache(root));
  };
  // A peak is worth its time only where there is work to compare with it.
  hooks.between_steps = [&, worth = std::optional<bool>()](double seconds) mutable {
    if (!worth) worth = !plan.dry_run && workload.facts().cost.has_value();
    if (*worth) peaks.after_step(seconds);
  };
  return hooks;
}

/// Counts what the processor counts while a step is recorded.
class CountingRecorder : public StepRecorder {
 public:
  explicit CountingRecorder(StepRecorder& recorder) : recorder_(recorder) {}

  void begin_step() override {
    recorder_.begin_step();
    counters_.start();
  }
  void end_step() override {
    counters_.stop();
    recorder_.end_step();
  }
  void phase_begin(const char* name) override { recorder_.phase_begin(name); }
  void phase_end(const char* name) override { recorder_.phase_end(name); }
  Recording take() override {
    Recording recording = recorder_.take();
    recording.counters = counters_.sums();
    recording.counters_reason = counters_.reason();
    return recording;
  }

  /// Of a step that broke off, which does not count.
  void forget_last_step() { counters_.forget_last(); }

 private:
  StepRecorder& recorder_;
  HardwareCounters counters_{};
};

}  // namespace

void refuse_if_too_large(const Workload& workload, const RunPlan& plan) {
  const double needed = workload.describe(plan.context).peak_bytes * plan.ranks_here;
  const std::optional<double> available = memory_left();
  if (plan.context.model) keep_to_memory_left();
  if (!available || needed <= *available) return;
  throw Error(fmt::format("--batch-size {}", plan.context.batch_size),
              fmt::format("needs about {} of memory, {} are available",
                          format_quantity(needed, "B"), format_quantity(*available, "B")),
              "use a smaller batch or a machine with more memory");
}

Result measure(RunPlan& plan, const MeasureTask& task) {
  // Before any thread exists, so that all inherit it.
  if (!plan.cpus.empty()) apply_affinity(plan.cpus);
  RankOfRun rank(plan, task);
  const std::unique_ptr<Workload> workload = plan.workload->create();
  plan.scenario->check(*workload);
  refuse_if_too_large(*workload, plan);

  Result result;
  result.identity = task.identity.value_or(make_identity(task.position, task.command_line));
  result.identity.campaign = task.campaign;
  result.rules = refer_to(plan.rules, plan.tier_name, plan.departures);
  result.rules.scenario = plan.scenario->info().name;
  result.rules.lockstep = task.orders != nullptr;
  result.settings = {plan.requested, plan.effective};
  result.kernels = plan.context.kernels;
  result.seeds = plan.context.seeds;
  result.system = capture_system();
  result.environment_before = capture_environment();
  if (task.saved_run) {
    result.identity = task.saved_run->identity;
    // What counted other processors says nothing of these.
    const json& before = task.saved_run->environment_before;
    if (before.value(kCpusCounted, json()) ==
        result.environment_before.value(kCpusCounted, json())) {
      result.environment_before = before;
    }
  }

  std::optional<SamplesFile> samples;
  open_samples(samples, plan, task, result);
  Progress progress(stderr, terminal_columns(stderr));
  PeakSchedule peaks(plan.context.threads);
  ScenarioOptions options{plan.tier, plan.quality_target};
  options.logs = task.out / (task.stem + ".loadgen");
  SessionHooks hooks = make_hooks(plan, *workload, peaks);
  StopNotice notice(task.out / (task.stem + ".jsonl"));
  rank.attach(hooks);
  // Of several ranks the first one logs, saves, and speaks with people.
  const bool first = plan.context.rank() == 0;
  std::vector<Observer*> observers = {&*samples, &rank};
  if (first) observers.insert(observers.end(), {&progress, &notice});
  std::optional<TraceFile> trace;
  if (task.trace) {
    hooks.spans = true;
    observers.push_back(&trace.emplace(trace_path(task.out, task.stem, plan.context.rank()),
                                       plan.context.rank(), plan.context.world()));
  }
  std::optional<TrainingSession> session;
  if (!first && task.saved_run) {
    options.resume_from = going_on_from(*task.saved_run, plan.ranks);
    hooks.restore = [&] {
      restore_workload(task.out, *task.saved_run, demand<Trains>(*workload, "run"));
    };
  }
  if (first && plan.scenario->info().to_target) {
    session.emplace(plan, result, task.out, task.stem, *workload, *samples, task.saved_run,
                    task.state_saved);
    session->attach(hooks);
    options.resume_from = session->resume_from();
    observers.insert(observers.end(), {&*session, &session->log()});
  }
  if (task.orders != nullptr) {
    hooks.orders = task.orders;
    if (const Clock clock = task.orders->clock()) hooks.clock = plan.context.seconds_worked = clock;
    hooks.between_steps = {};                          // others are waiting for their turns
    observers.insert(observers.begin(), task.orders);  // it answers before others write
  }
  std::unique_ptr<StepRecorder> recorder;
  std::optional<CountingRecorder> counting;
  if (task.recording != nullptr) {
    recorder = demand<Recordable>(*workload, "workload '" + plan.rules.workload + "'")
                   .recorder(plan.context);
    counting.emplace(*recorder);
    hooks.recorder = &*counting;
    options.evaluate = false;
  }
  const RunRecord record = plan.scenario->run(*workload, plan.context, options, hooks, observers);
  if (!task.rank) tell_failure(record.stop, record.stop_detail);
  if (task.orders != nullptr) task.orders->end(record.stop_detail);

  if (recorder) {
    if (record.recording_broke_off) counting->forget_last_step();
    *task.recording = counting->take();
    if (record.recording_broke_off) drop_last_step(*task.recording);
  }
  // A clock that was set back meanwhile must not make the run end before it began.
  result.identity.ended_at = std::max(result.identity.started_at, utc_now());
  result.environment_after = capture_environment();
  result.metrics = record.metrics;
  for (Metric& metric : result.metrics) summarise(metric);
  result.training = record.training;
  result.loadgen = record.loadgen;
  if (result.loadgen) {
    result.loadgen->set_up = task.set_up;
    result.loadgen->files.push_back({task.stem + ".jsonl", samples->written().sha256});
  }
  const WorkloadFacts facts = workload->facts();
  // What was stopped, or has lost a rank, is not kept waiting for peaks.
  if (ran_to_its_end(record)) {
    // Nothing may stop the clock of training to a target: its peaks are sampled behind it.
    if (record.training && facts.cost) peaks.after_step(record.training->seconds);
    // Nor may it stand between queries.
    if (record.loadgen && facts.cost) peaks.after_step(record.loadgen->seconds);
    result.peaks = peaks.finish();
  }
  result.dataset = record.data.dataset;
  result.weights = facts.weights;
  result.hyperparameters = facts.hyperparameters;
  result.choices = facts.choices;
  result.gradients = facts.gradients;
  result.preparation = record.preparation;
  result.system["software"] = facts.software;
  result.memory = report_memory(record);
  rank.report(result, record);
  if (facts.cost) {
    result.cost = report_cost(*facts.cost, step_seconds(result), result.peaks);
    result.cost->work_done = work_done(facts.choices);
  }
  if (record.quality)
    result.quality = report_quality(*record.quality, plan.quality_target, record.steps);
  if (ran_to_its_end(record) && first) {
    keep_weights(*workload, plan, result, task.out / (task.stem + kWeightsExtension));
  }
  judge(result, plan, record, task.recording != nullptr);
  // One of several ranks sees its own processors alone, and the others as strangers there.
  if (!task.rank) judge_machine(result);
  remark_on_missing_quality(result);
  remark_on_slow_precision(result, plan.context.precision);
  remark_on_chosen_precision(result);
  return result;
}

}  // namespace harness
