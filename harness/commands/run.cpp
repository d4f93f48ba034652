#include <fmt/format.h>

#include <algorithm>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/command.hpp"
#include "harness/gate/campaign.hpp"
#include "harness/lockstep/resident.hpp"
#include "harness/measure/identity.hpp"
#include "harness/measure/own_process.hpp"
#include "harness/measure/ranks/follower.hpp"
#include "harness/measure/ranks/order.hpp"
#include "harness/measure/ranks/shared_orders.hpp"
#include "harness/measure/resume.hpp"
#include "harness/measure/run_series.hpp"
#include "harness/measure/series.hpp"
#include "harness/measure/series_state.hpp"
#include "harness/measure/set_up_search.hpp"
#include "harness/plan/plan.hpp"
#include "harness/report/text/series_summary.hpp"
#include "harness/result/result_folder.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/memory_limit.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

ExitCode measure_alone(const RunInvocation& invocation, RunPlan& plan,
                       const SeriesPosition& position, const fs::path& out) {
  const OutputFolder folder(out);  // goes again where trials of a set-up are all there was
  MeasureTask task{position, out, "", invocation.command_line, {}, {}, inherited_campaign()};
  task.place = world_place(invocation.place);
  task.trace = invocation.trace;
  task.set_up = choose_set_up(plan, out, position.series_id, task.campaign);
  return run_once(plan, std::move(task), [&](const Result& result, const fs::path& file) {
    return deliver(result, file.string() + ".json", file.string() + ".jsonl", invocation.strict,
                   invocation.format);
  });
}

/// What the sides of a campaign are told apart, or found to be alike, by.
SideHello hello_of(const RunPlan& plan) {
  return {.name = plan.rules.workload + " " + version_line(),
          // Several ranks would stop, and wait for each other, one after the other.
          .slices = plan.ranks == 1,
          .setup = {{"workload", plan.rules.workload},
                    {"rules_sha256", plan.rules.sha256},
                    {"settings", plan.effective},
                    {"kernels", plan.context.kernels}}};
}

/// As a side that hears orders, in the process that steps.
template <class Measure>
auto as_resident(const RunPlan& plan, const Measure& measure_it) {
  Resident resident(hello_of(plan));
  try {
    return measure_it(resident);
  } catch (const std::exception& error) {
    resident.end(reason(error));
    throw;
  }
}

/// One of the ranks that share a run; the process that runs them delivers what it hands over.
ExitCode measure_as_rank(const RunInvocation& invocation, const RankOrder& order) {
  return run_rank([&] {
    RunRequest request = invocation.request;
    request.drawn_seed = order.seed;
    request["ranks"] = order.place.world;
    request.rank_share =
        RankShare{order.site.ranks_here, order.threads, static_cast<int>(std::ssize(order.cpus))};
    RunPlan plan = make_plan(request, home_folder());
    plan.cpus = order.cpus;
    MeasureTask task{order.position,      order.out, order.stem, invocation.command_line, {}, {},
                     inherited_campaign()};
    task.rank = engine_place(order);
    task.trace = invocation.trace;
    task.identity = make_identity(order.position, invocation.command_line);
    task.identity->uuid = order.uuid;
    task.identity->started_at = order.started_at;
    task.saved_run = saved_run_of(plan, task);
    task.state_saved = [&] { note_saved_state(task.out, task.stem); };
    if (!invocation.lockstep) return measure(plan, task);
    const auto led_by = [&](StepOrders* lead) {
      SharedOrders orders(plan, lead);
      task.orders = &orders;
      return measure(plan, task);
    };
    if (order.place.rank > 0) return led_by(nullptr);
    return as_resident(plan, [&](Resident& resident) { return led_by(&resident); });
  });
}

/// One of the ranks that are started one by one, behind rank 0.
ExitCode follow(const RunInvocation& invocation, const WorldPlace& place) {
  FollowTask task;
  task.out = invocation.out;
  task.pause_seconds = invocation.pause_seconds;
  if (invocation.resume.empty()) {
    const RunPlan plan = make_plan(invocation.request, home_folder());  // what is wrong is said now
    task.cpus = plan.cpus;
    task.arguments = {invocation.command_line.begin() + 2, invocation.command_line.end()};
  }
  return follow_ranks(place, task);
}

/// What the process that leads ranks has of this machine for its own one, before others have come.
RankShare share_of_leader() {
  const UsableCpus usable = usable_cpus();
  return {1, std::min(usable.physical_cores, usable.count), usable.count};
}

/// The request and the environment of a process that is one of ranks started one by one.
void take_place(RunInvocation& invocation, const WorldPlace& place) {
  if (invocation.lockstep) {
    throw Error("--lockstep", "is for ranks that one command starts", "--ranks N");
  }
  hand_down(place);
  RunRequest& request = invocation.request;
  const nlohmann::json ranks = request.settings.value("ranks", nlohmann::json());
  if (!ranks.is_null() && ranks != place.world) {
    throw Error(fmt::format("--ranks {}", ranks.dump()),
                fmt::format("this is rank {} of a world of {}", place.rank, place.world),
                "leave --ranks out: each rank is a process of its own already");
  }
  if (!invocation.resume.empty()) return;
  request["ranks"] = place.world;
  request.rank_share = share_of_leader();
}

/// As a side of a campaign that another process leads.
ExitCode run_resident(const RunInvocation& invocation, RunPlan& plan, const fs::path& out) {
  if (plan.scenario->info().to_target) {
    throw Error("--lockstep", "tier '" + plan.tier_name + "' " + kTrainsToTarget,
                "whole runs of it are compared; for its steps choose another tier");
  }
  if (plan.scenario->info().by_loadgen) {
    throw Error(
        "--lockstep",
        "scenario '" + plan.scenario->info().name + "' is driven by LoadGen, query by query",
        "whole runs of it are compared; for its queries in turn leave --scenario out");
  }
  if (plan.runs != 1) throw Error("--lockstep", "is for one run", "leave --runs out");
  if (plan.dry_run) throw Error("--lockstep", "is no dry run", "leave one of them out");
  const auto run_with = [&](StepOrders* orders) {
    MeasureTask task{{new_uuid(), 1, 1},   out,   "", invocation.command_line, {}, {},
                     inherited_campaign(), orders};
    task.trace = invocation.trace;
    return run_once(plan, std::move(task), [&](const Result& result, const fs::path& file) {
      return deliver(result, file.string() + ".json", file.string() + ".jsonl", invocation.strict,
                     OutputFormat::kNone);
    });
  };
  if (plan.ranks > 1) return run_with(nullptr);  // the first of them hears the orders
  return as_resident(plan, [&](Resident& resident) { return run_with(&resident); });
}

/// In a process of its own where there are several.
ExitCode measure_run(const RunInvocation& invocation, RunPlan& plan, const SeriesState& state,
                     std::int64_t index, const fs::path& out) {
  const SeriesPosition position{state.series_id(), index, plan.runs};
  if (plan.runs == 1) return measure_alone(invocation, plan, position, out);
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

ExitCode run_all(const RunInvocation& invocation, RunPlan& plan, SeriesState& state,
                 const fs::path& out) {
  SeriesSteps steps;
  steps.measure = [&](std::int64_t index) {
    return measure_run(invocation, plan, state, index, out);
  };
  steps.show = [&](bool complete) { show_series(invocation, plan, state, out, complete); };
  steps.pause_seconds = invocation.pause_seconds;
  steps.strict = invocation.strict;
  return run_series(state, plan, out, steps);
}

RunInvocation invocation_of(const SeriesState& state, const fs::path& out,
                            const Arguments& arguments) {
  std::optional<RunInvocation> invocation = parse_run_options(arguments);
  if (!invocation)
    throw Error("--resume " + printable(out.string()), "the series has no arguments");
  invocation->request.drawn_seed = state.seed();
  return *invocation;
}

/// The arguments with which the series goes on. Other ranks than those that trained until now have
/// other parts of the same batch; what was said of the ones before does not hold for them.
Arguments arguments_in_world(const SeriesState& state, const fs::path& out,
                             const std::optional<WorldPlace>& place, const nlohmann::json& asked) {
  const RunRequest begun = invocation_of(state, out, state.arguments()).request;
  std::optional<int> ranks;
  if (place) ranks = place->world;
  if (!place && !asked.is_null()) ranks = asked.get<int>();
  // Where a place tells it, the arguments may not.
  const int begun_with = begun.settings.value("ranks", place ? place->world : 1);
  const auto next =
      going_on_in(out, state, rules_for(begun, home_folder()).workload, ranks, begun_with);
  if (!next || (!place && !next->other_world && next->ranks == begun_with)) {
    return state.arguments();
  }
  std::vector<std::string> dropped = {"--ranks", "--batch-size"};
  if (next->other_world) dropped.emplace_back("--threads");
  if (next->ranks == 1) dropped.insert(dropped.end(), {"--engine", "--gradient-sums"});
  Arguments arguments = without_options(state.arguments(), dropped);
  const auto add = [&](const char* option, std::int64_t value) {
    arguments.insert(arguments.end(), {option, std::to_string(value)});
  };
  add("--batch-size", next->batch_size);
  if (!place) add("--ranks", next->ranks);
  return arguments;
}

ExitCode resume(const fs::path& folder, const nlohmann::json& ranks) {
  const fs::path out = fs::absolute(folder);
  expect_unfinished_series(out);
  SeriesState state(out);
  state.enter_working_folder();
  const std::optional<WorldPlace> place = world_place({});
  RunInvocation invocation =
      invocation_of(state, out, arguments_in_world(state, out, place, ranks));
  if (place) take_place(invocation, *place);
  RunPlan plan = make_plan(invocation.request, home_folder());
  return run_all(invocation, plan, state, out);
}

/// Said before minutes of measuring, not after them.
void remark_on_scenario(const RunPlan& plan) {
  const std::vector<std::string> named = plan.rules.tier(plan.tier_name).scenario_names();
  const std::string& ours = plan.scenario->info().name;
  if (plan.dry_run || std::find(named.begin(), named.end(), ours) != named.end()) return;
  print_err(
      fmt::format("note: tier '{}' of {} is for the scenarios {}: in '{}' the division is "
                  "open\n",
                  plan.tier_name, plan.rules.workload, join(named, ", "), ours));
}

}  // namespace

ExitCode run_command(const Arguments& arguments) {
  install_interrupt_handlers();
  end_with_parent();
  const std::optional<RankOrder> rank = inherited_rank_order();
  std::optional<RunInvocation> invocation = parse_run_options(arguments);
  if (!invocation) return ExitCode::kOk;
  if (rank) return measure_as_rank(*invocation, *rank);
  const std::optional<WorldPlace> place = world_place(invocation->place);
  if (place) take_place(*invocation, *place);
  if (place && place->rank > 0) return follow(*invocation, *place);
  if (!invocation->resume.empty()) {
    return resume(invocation->resume,
                  invocation->request.settings.value("ranks", nlohmann::json()));
  }
  const std::optional<SeriesOrder> order = inherited_order();
  inherited_campaign();  // refused before anything is measured
  if (order) invocation->request.drawn_seed = order->seed;
  RunPlan plan = make_plan(invocation->request, home_folder());
  plan.scenario->check_chosen(plan.tier, plan.context.chosen, memory_left());
  if (order) {
    if (invocation->format != OutputFormat::kText) invocation->format = OutputFormat::kNone;
    return measure_alone(*invocation, plan, order->position, order->out);
  }
  remark_on_scenario(plan);
  const fs::path out =
      invocation->out.empty() ? new_run_folder(plan.rules.workload) : invocation->out;
  if (invocation->lockstep) return run_resident(*invocation, plan, out);
  const std::string series_id = new_uuid();
  if (plan.runs == 1 && !plan.scenario->info().to_target) {
    return measure_alone(*invocation, plan, {series_id, 1, 1}, out);
  }
  const OutputFolder folder(out);
  SeriesState state(out, without_place(arguments), series_id, plan.context.seeds.run);
  return run_all(*invocation, plan, state, out);
}

}  // namespace harness
