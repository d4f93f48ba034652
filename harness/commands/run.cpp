#include <fmt/format.h>

#include <iterator>
#include <map>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/command.hpp"
#include "harness/gate/campaign.hpp"
#include "harness/measure/measure.hpp"
#include "harness/measure/resume.hpp"
#include "harness/measure/run_files.hpp"
#include "harness/measure/series.hpp"
#include "harness/measure/series_state.hpp"
#include "harness/plan/plan.hpp"
#include "harness/report/text/series_summary.hpp"
#include "harness/result/result_folder.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

std::string first_stem(const RunPlan& plan, const SeriesPosition& position) {
  return harness::first_stem(plan.rules.workload, position.index, position.series_id);
}

ExitCode run_once(const RunInvocation& invocation, RunPlan& plan, const SeriesPosition& position,
                  const fs::path& out) {
  const OutputFolder folder(out);
  MeasureTask task{position, out, "", invocation.command_line, {}, {}, inherited_campaign()};
  const std::string first = first_stem(plan, position);
  if (plan.tier.trains_to_target()) {
    task.saved_run = find_saved_run(out, first, position.series_id, position.index);
    task.state_saved = [&] { note_saved_state(out, task.stem); };
  }
  task.stem = task.saved_run ? task.saved_run->stem : free_stem(first, out);
  const Result result = measure(plan, task);
  const ExitCode code = deliver(result, out / (task.stem + ".json"), out / (task.stem + ".jsonl"),
                                invocation.strict, invocation.format);
  // Whoever stopped it may want to go on; otherwise the states have served.
  if (code != ExitCode::kAborted) {
    remove_saved_run(out, task.stem);
    if (plan.tier.trains_to_target() && plan.runs > 1) forget_saved_state(out);
  }
  return code;
}

ExitCode measure_run(const RunInvocation& invocation, RunPlan& plan, const SeriesState& state,
                     std::int64_t index, const fs::path& out) {
  const SeriesPosition position{state.series_id(), index, plan.runs};
  if (plan.runs == 1) return run_once(invocation, plan, position, out);
  const bool as_text = invocation.format == OutputFormat::kText;
  if (as_text) print_out(fmt::format("run {} of {}\n", index, plan.runs));
  flush_out();
  const ExitCode code =
      run_child(state.arguments(), {position, series_seed(state.seed(), index), out});
  if (as_text) print_out("\n");
  return code;
}

/// What is said of a series when its runs have ended or one was stopped.
void show_series(const RunInvocation& invocation, const RunPlan& plan, const SeriesState& state,
                 const fs::path& out, bool complete) {
  if (plan.runs == 1) return;
  const std::vector<Result> runs = results_of_series(out, state.series_id());
  const std::string line =
      fmt::format("series   {} ({} in {})\n", state.series_id(),
                  format_count(std::ssize(runs), "result"), printable(out.string()));
  if (invocation.format != OutputFormat::kText) {
    print_series(runs, invocation.format);
    flush_out();
    print_err(line);
  } else if (complete) {
    print_out(line + render_training_series(runs));
  }
}

/// The series from its first run without a result on. A run counts as done when its result says
/// so: whatever was killed in between cannot make it count twice.
ExitCode run_all(const RunInvocation& invocation, RunPlan& plan, SeriesState& state,
                 const fs::path& out) {
  const StopMessage message("stopping before the next run");
  std::map<std::int64_t, ExitCode> codes;
  std::vector<Result> done = results_of_series(out, state.series_id());
  std::erase_if(done, [](const Result& result) { return was_stopped(result.status); });
  for (const Result& result : done) {
    const std::int64_t index = result.identity.run_index;
    codes[index] = exit_code(result.status, invocation.strict);
    remove_saved_runs(out, first_stem(plan, {state.series_id(), index, plan.runs}));
  }
  if (std::ssize(codes) < plan.runs) expect_same_series(done, plan);
  for (std::int64_t index = 1; index <= plan.runs; ++index) {
    if (codes.contains(index)) continue;
    const std::string first = first_stem(plan, {state.series_id(), index, plan.runs});
    if (state.resumed()) expect_resumable(out, state, plan, index);
    const bool from_saved_run = has_saved_run(out, first);
    // A new series of which nothing was measured is forgotten: the next try need not go on with it.
    const auto forgotten = [&] {
      if (state.resumed() || !codes.empty() || has_saved_run(out, first)) return false;
      state.complete();
      return true;
    };
    const auto say_how_to_go_on = [&] {
      show_series(invocation, plan, state, out, false);
      print_err(
          fmt::format("to go on from here: harness run --resume '{}'\n", printable(out.string())));
    };
    // A saved state that was refused is refused the next time too.
    const auto leave_after_failure = [&] {
      if (!forgotten() && !from_saved_run) say_how_to_go_on();
    };
    ExitCode code = ExitCode::kOk;
    try {
      if (!codes.empty()) cool_down(invocation.pause_seconds);
      code = measure_run(invocation, plan, state, index, out);
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
  show_series(invocation, plan, state, out, true);
  for (const auto& [index, code] : codes) {
    if (code != ExitCode::kOk) return code;
  }
  return ExitCode::kOk;
}

ExitCode resume(const fs::path& folder) {
  const fs::path out = fs::absolute(folder);
  expect_unfinished_series(out);
  SeriesState state(out);
  state.enter_working_folder();
  std::optional<RunInvocation> invocation = parse_run_options(state.arguments());
  if (!invocation)
    throw Error("--resume " + printable(out.string()), "the series has no arguments");
  invocation->request.drawn_seed = state.seed();
  RunPlan plan = make_plan(invocation->request, home_folder());
  return run_all(*invocation, plan, state, out);
}

}  // namespace

ExitCode run_command(const Arguments& arguments) {
  install_interrupt_handlers();
  std::optional<RunInvocation> invocation = parse_run_options(arguments);
  if (!invocation) return ExitCode::kOk;
  if (!invocation->resume.empty()) return resume(invocation->resume);
  const std::optional<SeriesOrder> order = inherited_order();
  inherited_campaign();  // refused before anything is measured
  if (order) invocation->request.drawn_seed = order->seed;
  RunPlan plan = make_plan(invocation->request, home_folder());
  if (order) {
    if (invocation->format != OutputFormat::kText) invocation->format = OutputFormat::kNone;
    return run_once(*invocation, plan, order->position, order->out);
  }
  const fs::path out =
      invocation->out.empty() ? new_run_folder(plan.rules.workload) : invocation->out;
  const std::string series_id = new_uuid();
  if (plan.runs == 1 && !plan.tier.trains_to_target()) {
    return run_once(*invocation, plan, {series_id, 1, 1}, out);
  }
  const OutputFolder folder(out);
  SeriesState state(out, arguments, series_id, plan.context.seeds.run);
  return run_all(*invocation, plan, state, out);
}

}  // namespace harness
