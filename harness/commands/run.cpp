#include <fmt/format.h>

#include <algorithm>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/measure.hpp"
#include "harness/commands/output.hpp"
#include "harness/commands/run_options.hpp"
#include "harness/commands/series.hpp"
#include "harness/commands/series_state.hpp"
#include "harness/report/series_summary.hpp"
#include "harness/result/result_file.hpp"
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
  MeasureTask task{position, out, "", invocation.command_line, {}};
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

void print_series(const std::string& series_id, const fs::path& out) {
  std::vector<Result> runs;
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    if (entry.path().extension() != ".json") continue;
    Result run = read_result_file(entry.path());
    if (run.identity.series_id == series_id) runs.push_back(std::move(run));
  }
  std::sort(runs.begin(), runs.end(), [](const Result& a, const Result& b) {
    return a.identity.run_index < b.identity.run_index;
  });
  print_out(fmt::format("series   {} ({} results in {})\n{}", series_id, runs.size(), out.string(),
                        render_training_series(runs)));
}

/// Forgets a series of which nothing was measured: the next try need not go on with it.
bool nothing_to_resume(SeriesState& state, const fs::path& out) {
  if (state.any_finished() || find_checkpoint(out, state.series_id(), 1)) return false;
  state.complete();
  return true;
}

ExitCode run_all(const RunInvocation& invocation, RunPlan& plan, SeriesState& state,
                 const fs::path& out) {
  ExitCode worst = ExitCode::kOk;
  for (std::int64_t index = 1; index <= plan.runs; ++index) {
    if (state.is_finished(index)) continue;
    const SeriesPosition position{state.series_id(), index, plan.runs};
    ExitCode code = ExitCode::kOk;
    if (plan.runs == 1) {
      try {
        code = run_once(invocation, plan, position, out);
      } catch (const std::exception&) {
        nothing_to_resume(state, out);
        throw;
      }
    } else {
      print_out(fmt::format("run {} of {}\n", index, plan.runs));
      flush_out();
      code = run_child(state.arguments(), {position, series_seed(state.seed(), index), out});
      print_out("\n");
    }
    if (code == ExitCode::kUsage || code == ExitCode::kAborted) {
      if (code == ExitCode::kUsage && nothing_to_resume(state, out)) return code;
      print_err(fmt::format("harness run --resume {} goes on from here\n", out.string()));
      return code;
    }
    state.finish(index);
    if (worst == ExitCode::kOk) worst = code;
  }
  state.complete();
  if (plan.runs > 1) print_series(state.series_id(), out);
  return worst;
}

ExitCode resume(const fs::path& out) {
  SeriesState state(out);
  std::optional<RunInvocation> invocation = parse_run_options(state.arguments());
  if (!invocation) throw Error("--resume " + out.string(), "the series has no arguments");
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
