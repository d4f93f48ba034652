#include "harness/measure/run_series.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "harness/base/print.hpp"
#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judgement.hpp"
#include "harness/check/output_place.hpp"
#include "harness/measure/ranks/team.hpp"
#include "harness/measure/resume.hpp"
#include "harness/measure/run_files.hpp"
#include "harness/measure/saved_run.hpp"
#include "harness/result/result_folder.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {

namespace fs = std::filesystem;

namespace {

std::string first_stem_of(const RunPlan& plan, const MeasureTask& task) {
  return first_stem(plan.rules.workload, task.position.index, task.position.series_id);
}

}  // namespace

std::optional<SavedRun> saved_run_of(const RunPlan& plan, const MeasureTask& task) {
  if (!plan.scenario->info().to_target) return std::nullopt;
  return find_saved_run(task.out, first_stem_of(plan, task), task.position.series_id,
                        task.position.index);
}

ExitCode run_once(RunPlan& plan, MeasureTask task, const Deliver& deliver) {
  const OutputFolder folder(task.out);
  const std::string first = first_stem_of(plan, task);
  task.saved_run = saved_run_of(plan, task);
  if (plan.scenario->info().to_target) {
    task.state_saved = [&] { note_saved_state(task.out, task.stem); };
  }
  task.stem = task.saved_run ? task.saved_run->stem : free_stem(first, task.out);
  const Result result = plan.ranks > 1 ? measure_in_ranks(plan, task) : measure(plan, task);
  const ExitCode code = deliver(result, task.out / task.stem);
  // Whoever stopped it may want to go on; otherwise the states have served.
  if (code != ExitCode::kAborted) {
    remove_saved_run(task.out, task.stem);
    if (plan.scenario->info().to_target && plan.runs > 1) forget_saved_state(task.out);
  }
  return code;
}

ExitCode run_series(SeriesState& state, const RunPlan& plan, const fs::path& out,
                    const SeriesSteps& steps) {
  const StopMessage message("stopping before the next run");
  const auto stem_of = [&](std::int64_t index) {
    return first_stem(plan.rules.workload, index, state.series_id());
  };
  std::map<std::int64_t, ExitCode> codes;
  std::vector<Result> done = results_of_series(out, state.series_id());
  std::erase_if(done, [](const Result& result) { return was_stopped(result.status); });
  for (const Result& result : done) {
    const std::int64_t index = result.identity.run_index;
    codes[index] = exit_code(result.status, steps.strict);
    remove_saved_runs(out, stem_of(index));
  }
  if (std::ssize(codes) < plan.runs) expect_same_series(done, plan);
  for (std::int64_t index = 1; index <= plan.runs; ++index) {
    if (codes.contains(index)) continue;
    const std::string first = stem_of(index);
    if (state.resumed()) expect_resumable(out, state, plan, index);
    const bool from_saved_run = has_saved_run(out, first);
    // A new series of which nothing was measured is forgotten: the next try need not go on with it.
    const auto forgotten = [&] {
      if (state.resumed() || !codes.empty() || has_saved_run(out, first)) return false;
      state.complete();
      return true;
    };
    const auto say_how_to_go_on = [&] {
      steps.show(false);
      print_err(going_on_text("run", out));
    };
    // A saved state that was refused is refused the next time too.
    const auto leave_after_failure = [&] {
      if (!forgotten() && !from_saved_run) say_how_to_go_on();
    };
    ExitCode code = ExitCode::kOk;
    try {
      if (!codes.empty()) cool_down(steps.pause_seconds);
      code = steps.measure(index);
    } catch (const Interrupted&) {
      if (!forgotten()) say_how_to_go_on();  // also when asked to stop between two runs
      throw;
    } catch (const std::exception&) {
      leave_after_failure();
      throw;
    }
    if (code == ExitCode::kUsage) leave_after_failure();
    if (code == ExitCode::kAborted) say_how_to_go_on();
    if (code == ExitCode::kUsage || code == ExitCode::kAborted) return code;
    codes[index] = code;
  }
  state.complete();
  steps.show(true);
  for (const auto& [index, code] : codes) {
    if (code != ExitCode::kOk) return code;
  }
  return ExitCode::kOk;
}

}  // namespace harness
