#include <fmt/format.h>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/measure.hpp"
#include "harness/commands/output.hpp"
#include "harness/commands/run_options.hpp"
#include "harness/commands/series.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/plan.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

ExitCode run_once(const RunInvocation& invocation, RunPlan& plan, const SeriesPosition& position,
                  const fs::path& out) {
  make_writable_folder(out);
  const std::string stem =
      fmt::format("{}-{}-{}", plan.rules.workload, position.index, new_uuid().substr(0, 8));
  const Result result = measure(plan, position, out, stem, invocation.command_line);
  return deliver(result, out / (stem + ".json"), out / (stem + ".jsonl"), invocation.strict);
}

ExitCode run_series(const Arguments& arguments, const RunPlan& plan, const fs::path& out) {
  make_writable_folder(out);
  const std::string series_id = new_uuid();
  ExitCode worst = ExitCode::kOk;
  for (std::int64_t index = 1; index <= plan.runs; ++index) {
    print_out(fmt::format("run {} of {}\n", index, plan.runs));
    flush_out();
    const ExitCode code =
        run_child(arguments,
                  {{series_id, index, plan.runs}, series_seed(plan.context.seeds.run, index), out});
    if (code == ExitCode::kUsage || code == ExitCode::kAborted) return code;
    if (worst == ExitCode::kOk) worst = code;
    print_out("\n");
  }
  print_out(fmt::format("series   {} ({} results in {})\n", series_id, plan.runs, out.string()));
  return worst;
}

}  // namespace

ExitCode run_command(const Arguments& arguments) {
  install_interrupt_handlers();
  std::optional<RunInvocation> invocation = parse_run_options(arguments);
  if (!invocation) return ExitCode::kOk;
  const std::optional<SeriesOrder> order = inherited_order();
  if (order) invocation->request.seed = order->seed;
  RunPlan plan = make_plan(invocation->request, home_folder());
  if (order) return run_once(*invocation, plan, order->position, order->out);
  const fs::path out =
      invocation->out.empty() ? new_run_folder(plan.rules.workload) : invocation->out;
  if (plan.runs > 1) return run_series(arguments, plan, out);
  return run_once(*invocation, plan, {new_uuid(), 1, 1}, out);
}

}  // namespace harness
