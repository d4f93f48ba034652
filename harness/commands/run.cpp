#include <fmt/format.h>

#include <iterator>
#include <map>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/measure.hpp"
#include "harness/commands/output.hpp"
#include "harness/commands/result_folder.hpp"
#include "harness/commands/run_options.hpp"
#include "harness/commands/series.hpp"
#include "harness/commands/series_state.hpp"
#include "harness/gate/campaign.hpp"
#include "harness/report/series_summary.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/plan.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// Names for the files of a run that nothing in `out` has yet: what an earlier try left is kept.
std::string free_stem(const RunPlan& plan, const SeriesPosition& position, const fs::path& out) {
  const std::string first =
      fmt::format("{}-{}-{}", plan.rules.workload, position.index, position.series_id.substr(0, 8));
  const auto taken = [&](const std::string& stem) {
    return fs::exists(out / (stem + ".json")) || fs::exists(out / (stem + ".jsonl")) ||
           fs::exists(out / (stem + ".log"));
  };
  std::string stem = first;
  for (int i = 2; taken(stem); ++i) stem = fmt::format("{}-{}", first, i);
  return stem;
}

ExitCode run_once(const RunInvocation& invocation, RunPlan& plan, const SeriesPosition& position,
                  const fs::path& out) {
  make_writable_folder(out);
  MeasureTask task{position, out, "", invocation.command_line, {}, inherited_campaign()};
  if (plan.tier.trains_to_target()) {
    task.checkpoint = find_checkpoint(out, position.series_id, position.index);
  }
  task.stem = task.checkpoint ? task.checkpoint->stem : free_stem(plan, position, out);
  const Result result = measure(plan, task);
  const ExitCode code =
      deliver(result, out / (task.stem + ".json"), out / (task.stem + ".jsonl"), invocation.strict);
  // Whoever stopped it may want to go on; otherwise the states have served.
  if (code != ExitCode::kAborted) remove_checkpoint(out, task.stem);
  return code;
}

ExitCode measure_run(const RunInvocation& invocation, RunPlan& plan, const SeriesState& state,
                     std::int64_t index, const fs::path& out) {
  const SeriesPosition position{state.series_id(), index, plan.runs};
  if (plan.runs == 1) return run_once(invocation, plan, position, out);
  print_out(fmt::format("run {} of {}\n", index, plan.runs));
  flush_out();
  const ExitCode code =
      run_child(state.arguments(), {position, series_seed(state.seed(), index), out});
  print_out("\n");
  return code;
}

/// The series from its first run without a result on. A run counts as done when its result says
/// so: whatever was killed in between cannot make it count twice.
ExitCode run_all(const RunInvocation& invocation, RunPlan& plan, SeriesState& state,
                 const fs::path& out) {
  std::map<std::int64_t, ExitCode> codes;
  for (const Result& result : results_of_series(out, state.series_id())) {
    if (was_stopped(result.status)) continue;
    const std::int64_t index = result.identity.run_index;
    codes[index] = exit_code(result.status, invocation.strict);
    if (const auto left = find_checkpoint(out, state.series_id(), index)) {
      remove_checkpoint(out, left->stem);
    }
  }
  for (std::int64_t index = 1; index <= plan.runs; ++index) {
    if (codes.contains(index)) continue;
    // A new series of which nothing was measured is forgotten: the next try need not go on with it.
    const auto nothing_yet = [&] {
      return !state.resumed() && codes.empty() && !find_checkpoint(out, state.series_id(), index);
    };
    const auto say_how_to_go_on = [&] {
      print_err(
          fmt::format("to go on from here: harness run --resume '{}'\n", printable(out.string())));
    };
    ExitCode code = ExitCode::kOk;
    try {
      if (!codes.empty()) cool_down(invocation.pause_seconds);
      code = measure_run(invocation, plan, state, index, out);
    } catch (const std::exception&) {
      if (nothing_yet()) {
        state.complete();
      } else {
        say_how_to_go_on();  // also when asked to stop between two runs
      }
      throw;
    }
    if (code == ExitCode::kUsage && nothing_yet()) {
      state.complete();
      return code;
    }
    if (code == ExitCode::kUsage || code == ExitCode::kAborted) {
      say_how_to_go_on();
      return code;
    }
    codes[index] = code;
  }
  state.complete();
  if (plan.runs > 1) {
    const std::vector<Result> runs = results_of_series(out, state.series_id());
    print_out(fmt::format("series   {} ({} in {})\n{}", state.series_id(),
                          format_count(std::ssize(runs), "result"), printable(out.string()),
                          render_training_series(runs)));
  }
  for (const auto& [index, code] : codes) {
    if (code != ExitCode::kOk) return code;
  }
  return ExitCode::kOk;
}

ExitCode resume(const fs::path& folder) {
  const fs::path out = fs::absolute(folder);
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
  if (order) return run_once(*invocation, plan, order->position, order->out);
  const fs::path out =
      invocation->out.empty() ? new_run_folder(plan.rules.workload) : invocation->out;
  const std::string series_id = new_uuid();
  if (plan.runs == 1 && !plan.tier.trains_to_target()) {
    return run_once(*invocation, plan, {series_id, 1, 1}, out);
  }
  make_writable_folder(out);
  SeriesState state(out, arguments, series_id, plan.context.seeds.run);
  return run_all(*invocation, plan, state, out);
}

}  // namespace harness
