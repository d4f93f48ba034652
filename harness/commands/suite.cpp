#include "harness/commands/suite.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/command.hpp"
#include "harness/kinds/suite/measure.hpp"
#include "harness/kinds/suite/plan.hpp"
#include "harness/kinds/suite/reference.hpp"
#include "harness/measure/identity.hpp"
#include "harness/measure/series_state.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// Of all runs; what differs between tasks is for their rules to say.
const std::vector<SettingScope> kScopes = {SettingScope::kVariant};
const std::vector<std::string> kSettings = {"tier", "tuning",  "device",
                                            "cpus", "threads", "division"};

Options suite_options() {
  Options options("suite",
                  "Measures the tasks of the suite one after another, each in the scenarios of the "
                  "tier, and sums them up in one score (docs/suite.md). Each run is a process and "
                  "a result file of its own.",
                  "[OPTIONS] | --resume DIR");
  options.add("tasks", "only these tasks, e.g. classify,embed; the division is then open", "LIST")
      .add("scenarios",
           "only these scenarios, e.g. single-stream,offline; the division is then open", "LIST");
  add_settings(options, kSettings);
  add_settings(options, kScopes);
  options
      .add("rules", "tasks, scenarios and pauses from this file in place of rules/suite.json",
           "FILE")
      .add("reference",
           "the suite result, or a folder with one, that the score is against; default: the one "
           "that the rules name",
           "PATH")
      .add("out", "folder for all results; default: a new one under runs/", "DIR")
      .add("resume", "go on with the suite that was stopped or killed in this folder", "DIR")
      .add("strict", "exit 3 when the machine's state makes a result doubtful");
  add_formats(options, "print the suite's result file in place of the summary",
              "print a CSV table in place of the summary: a row for each task and scenario");
  options.example("harness suite")
      .example("harness suite --tier quick --tasks classify --out runs/suite")
      .example("harness suite --resume runs/suite")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid});
  return options;
}

struct Invocation {
  SuiteRequest request{};
  std::string reference{};
  std::string out{};
  std::string resume{};  ///< not empty: go on there, nothing else was given
  bool strict = false;
  OutputFormat format = OutputFormat::kText;
};

std::optional<Invocation> parse(const Arguments& arguments) {
  Options options = suite_options();
  if (!options.parse(arguments)) return std::nullopt;
  Invocation invocation;
  invocation.resume = options.text("resume").value_or("");
  if (!invocation.resume.empty()) {
    if (arguments.size() <= 2) return invocation;
    throw Error("--resume " + printable(invocation.resume), "takes no other options",
                "the suite goes on with those it was begun with");
  }
  SuiteRequest& request = invocation.request;
  read_settings(options, kSettings, request.common);
  read_settings(options, kScopes, request.common);
  request.rules = options.text("rules").value_or("");
  request.tasks = options.text("tasks").value_or("");
  request.scenarios = options.text("scenarios").value_or("");
  invocation.reference = options.text("reference").value_or("");
  invocation.out = options.text("out").value_or("");
  invocation.strict = options.flag("strict");
  invocation.format = chosen_format(options);
  return invocation;
}

/// What the score is against, before anything is measured.
void find_reference(const Invocation& invocation, const SuitePlan& plan, SuiteTarget& target) {
  const SuiteRules& rules = plan.rules;
  if (!invocation.reference.empty()) {
    target.reference = find_suite(invocation.reference, plan.tier);
    if (target.reference) return;
    throw Error("--reference " + printable(invocation.reference), "no suite result lies there",
                "give what 'harness suite' wrote");
  }
  const fs::path usual = home_folder() / rules.reference;
  std::error_code ignored;
  if (!rules.reference.empty() && fs::exists(usual, ignored))
    target.reference = find_suite(usual, plan.tier);
  target.no_reference = rules.reference.empty() ? "the rules name no reference"
                                                : "no reference result of tier '" + plan.tier +
                                                      "' lies at " + rules.reference;
}

ExitCode run_all(const Invocation& invocation, const SuitePlan& plan, SeriesState& state,
                 SuiteTarget target) {
  target.strict = invocation.strict;
  target.command_line = {"harness", "suite"};
  target.command_line.insert(target.command_line.end(), state.arguments().begin(),
                             state.arguments().end());
  const auto say_how_to_go_on = [&] { print_err(going_on_text("suite", target.out)); };
  SuiteOutcome outcome;
  try {
    outcome = measure_suite(plan, state, target);
    // What has nothing to go on with is forgotten: the next try may be another one.
    if (outcome.complete || (!outcome.suite && !state.resumed())) state.complete();
    if (outcome.suite) {
      const fs::path file =
          target.out / fmt::format("suite-{}.json", state.series_id().substr(0, 8));
      const ExitCode own = deliver(*outcome.suite, file, {}, invocation.strict, invocation.format);
      if (outcome.code == ExitCode::kOk) outcome.code = own;
    }
  } catch (const std::exception&) {
    if (has_unfinished_series(target.out, kSuiteForm)) say_how_to_go_on();
    throw;
  }
  if (!outcome.suite) {
    throw Error("suite", "no run left a result", "what each said stands above", outcome.code);
  }
  if (!outcome.complete) say_how_to_go_on();
  return outcome.code;
}

ExitCode resume(const fs::path& folder) {
  SuiteTarget target;
  target.out = fs::absolute(folder);
  if (!has_unfinished_series(target.out, kSuiteForm)) {
    throw Error("--resume " + printable(folder.string()), "no unfinished suite lies there",
                "give the --out folder of a suite that was stopped");
  }
  SeriesState state(target.out, kSuiteForm);
  state.enter_working_folder();
  const std::optional<Invocation> invocation = parse(state.arguments());
  if (!invocation) {
    throw Error("--resume " + printable(folder.string()), "the suite has no arguments");
  }
  const SuitePlan plan = make_suite_plan(invocation->request, home_folder());
  find_reference(*invocation, plan, target);
  return run_all(*invocation, plan, state, std::move(target));
}

}  // namespace

std::vector<TaskSteps> steps_of_suite(const AskedCommand& suite) {
  const std::optional<Invocation> invocation = parse(suite.call->arguments);
  if (!invocation || !invocation->resume.empty()) {
    throw Error("command '" + printable(suite.text, 80) + "'", "begins no suite");
  }
  std::vector<TaskSteps> tasks;
  for (const SuiteRunPlan& plan : steps_of_tasks(invocation->request, home_folder())) {
    if (!plan.left_out.empty()) continue;
    tasks.push_back({plan.workload, {suite.text, HarnessCall{"run", plan.arguments}}});
  }
  return tasks;
}

ExitCode suite_command(const Arguments& arguments) {
  install_interrupt_handlers();
  const std::optional<Invocation> invocation = parse(arguments);
  if (!invocation) return ExitCode::kOk;
  if (!invocation->resume.empty()) return resume(invocation->resume);
  const SuitePlan plan = make_suite_plan(invocation->request, home_folder());
  SuiteTarget target;
  find_reference(*invocation, plan, target);
  target.out = invocation->out.empty() ? new_run_folder("suite") : fs::path(invocation->out);
  const OutputFolder folder(target.out);
  SeriesState state(target.out, arguments, new_uuid(), 0, kSuiteForm);
  return run_all(*invocation, plan, state, std::move(target));
}

}  // namespace harness
