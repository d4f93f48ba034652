#include "harness/kinds/suite/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/result/setting.hpp"
#include "harness/workload/registry.hpp"

namespace harness {
namespace {

using nlohmann::json;

/// `given`, the value of --OPTION, one by one; each is among `known`, and there once.
std::vector<std::string> chosen(const char* option, const std::string& given,
                                const std::vector<std::string>& known) {
  if (given.empty()) return known;
  const std::string what = std::string("--") + option + " " + printable(given);
  std::set<std::string> seen;
  for (const std::string& name : split(given, ',')) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(what, "the suite has no '" + printable(name, 64) + "'",
                  did_you_mean(name, known));
    }
    if (!seen.insert(name).second) {
      throw Error(what, "'" + name + "' is given twice", "leave one of them out");
    }
  }
  return split(given, ',');
}

/// What --scenarios may name: those of any tier. Another one than the tier's is a departure.
std::vector<std::string> known_scenarios(const SuiteRules& rules) {
  std::vector<std::string> known;
  for (const auto& [name, tier] : rules.tiers) {
    for (const std::string& scenario : tier.scenarios) {
      if (std::find(known.begin(), known.end(), scenario) == known.end()) {
        known.push_back(scenario);
      }
    }
  }
  return known;
}

RunRequest request_of(const SuiteTaskRule& task, const std::string& scenario,
                      const std::string& tier) {
  RunRequest request;
  request["workload"] = task.workload;
  request["scenario"] = scenario;
  request["tier"] = tier;
  request["runs"] = 1;
  for (const auto& [key, value] : task.set) request["set"].push_back(key + "=" + value);
  return request;
}

/// Why the task cannot be run so, whatever else is asked for; empty where it can.
std::string hindrance(const RunRequest& request, const std::filesystem::path& home) {
  const std::string name = request.text("workload");
  const std::vector<const WorkloadEntry*> all = WorkloadRegistry::instance().list();
  if (std::none_of(all.begin(), all.end(),
                   [&](const WorkloadEntry* entry) { return entry->info.name == name; })) {
    return "this program has no workload '" + name + "'";
  }
  const std::string scenario = request.text("scenario");
  if (!scenario_infos().contains(scenario)) {
    return "this program has no scenario '" + scenario + "'";
  }
  try {
    const RunPlan plan = make_plan(request, home);
    plan.scenario->check(*plan.workload->create());
    return "";
  } catch (const Error& error) {
    return error.what_failed() + ": " + error.why();
  }
}

/// As `harness run` takes the settings of `request`.
std::vector<std::string> arguments_of(const RunRequest& request) {
  std::vector<std::string> arguments;
  const auto add = [&](const std::string& option, const json& value) {
    arguments.push_back("--" + option);
    if (!value.is_boolean()) arguments.push_back(plain_text(value));
  };
  for (const auto& [name, value] : request.settings.items()) {
    const std::string option = SettingTable::instance().find(name)->option();
    if (!value.is_array()) add(option, value);
    for (const json& item : value.is_array() ? value : json::array()) add(option, item);
  }
  return arguments;
}

SuiteRunPlan plan_run(const SuiteTaskRule& task, const std::string& scenario,
                      const SuiteRequest& asked, const std::string& tier,
                      const std::filesystem::path& home) {
  SuiteRunPlan run{task.workload, scenario, "", {}, {}};
  RunRequest request = request_of(task, scenario, tier);
  run.left_out = hindrance(request, home);
  if (!run.left_out.empty()) return run;
  request.settings.update(asked.common.settings);
  request["tier"] = tier;
  run.plan = make_plan(request, home);
  // What lacks its weights, say, is told before hours of the other tasks.
  run.plan.workload->create()->describe(run.plan.context);
  run.arguments = arguments_of(request);
  return run;
}

void choose_settings(const SuiteRequest& request, const std::vector<std::string>& tasks,
                     const std::vector<std::string>& scenarios, SuitePlan& plan) {
  plan.settings.requested = request.common.settings;
  if (!request.tasks.empty()) plan.settings.requested["tasks"] = request.tasks;
  if (!request.scenarios.empty()) plan.settings.requested["scenarios"] = request.scenarios;
  plan.settings.effective = request.common.settings;
  plan.settings.effective.update({{"tier", plan.tier},
                                  {"tasks", join(tasks, ",")},
                                  {"scenarios", join(scenarios, ",")},
                                  {"pause_seconds", plan.pause_seconds}});
}

/// Before anything is measured.
void refuse_departures(const SuiteRequest& request, const SuitePlan& plan) {
  if (request.common.settings.value("division", "") != "closed") return;
  std::string part = request.rules.empty() ? "" : "--rules";
  for (const Constraint& one : plan.rules.as_rules(plan.tier).closed) {
    if (one.value != plan.settings.effective[one.rule]) part = "--" + one.rule;
  }
  if (part.empty()) return;
  throw Error("--division closed", fmt::format("{} departs from the rules of the suite", part),
              fmt::format("leave {} out, or use --division open", part));
}

/// What somebody named must be there.
void refuse_named(const SuiteRequest& request, const SuitePlan& plan) {
  for (const SuiteRunPlan& run : plan.runs) {
    if (run.left_out.empty()) continue;
    if (!request.tasks.empty()) throw Error("--tasks " + printable(request.tasks), run.left_out);
  }
  const bool any = std::any_of(plan.runs.begin(), plan.runs.end(),
                               [](const SuiteRunPlan& run) { return run.left_out.empty(); });
  if (!any) throw Error("suite", "nothing can be run here: " + plan.runs.front().left_out);
}

SuiteRules rules_for(const SuiteRequest& request, const std::filesystem::path& home) {
  return request.rules.empty() ? load_suite_rules(home)
                               : load_suite_rules_file(request.rules, home);
}

/// Precondition: it is among them.
const SuiteTaskRule& task_named(const std::string& name, const SuiteRules& rules) {
  return *std::find_if(rules.tasks.begin(), rules.tasks.end(),
                       [&](const SuiteTaskRule& rule) { return rule.workload == name; });
}

}  // namespace

SuitePlan make_suite_plan(const SuiteRequest& request, const std::filesystem::path& home) {
  SuitePlan plan;
  plan.rules = rules_for(request, home);
  plan.tier = request.common.settings.value("tier", plan.rules.default_tier);
  const SuiteTier& tier = plan.rules.tier(plan.tier);
  plan.pause_seconds = tier.pause_seconds;
  const std::vector<std::string> tasks = chosen("tasks", request.tasks, plan.rules.task_names());
  const std::vector<std::string> scenarios =
      request.scenarios.empty()
          ? tier.scenarios
          : chosen("scenarios", request.scenarios, known_scenarios(plan.rules));
  choose_settings(request, tasks, scenarios, plan);
  refuse_departures(request, plan);
  for (const std::string& name : tasks) {
    for (const std::string& scenario : scenarios) {
      plan.runs.push_back(
          plan_run(task_named(name, plan.rules), scenario, request, plan.tier, home));
    }
  }
  refuse_named(request, plan);
  return plan;
}

std::vector<SuiteRunPlan> steps_of_tasks(const SuiteRequest& request,
                                         const std::filesystem::path& home) {
  const SuiteRules rules = rules_for(request, home);
  const std::string tier = request.common.settings.value("tier", rules.default_tier);
  std::vector<SuiteRunPlan> runs;
  for (const std::string& name : chosen("tasks", request.tasks, rules.task_names())) {
    runs.push_back(plan_run(task_named(name, rules), "steps", request, tier, home));
  }
  return runs;
}

}  // namespace harness
