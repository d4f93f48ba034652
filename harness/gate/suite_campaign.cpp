#include "harness/gate/suite_campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/steady.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/lockstep_campaign.hpp"
#include "harness/gate/nights.hpp"
#include "harness/gate/verdict_file.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr double kMinute = 60;

/// Of the steps and of the suites: half of the error each.
double half_of(double error) { return error / 2; }

/// What is said of the steps of `task` gets its name.
void name_after(const SuiteTaskCommands& task, GateReport& report) {
  const std::string name = printable(task.workload, 60) + "/lockstep";
  for (GateRow& row : report.rows) {
    row.tag = name + " " + row.tag;
    row.counted = report.unit;
  }
  for (auto* list : {&report.differences, &report.forbidding}) {
    for (GateDifference& one : *list) one.name = name + " " + one.name;
  }
  for (std::string& note : report.notes) note = name + ": " + note;
}

template <class Item>
void append(const std::vector<Item>& from, std::vector<Item>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

class SuiteCampaign {
 public:
  SuiteCampaign(const CampaignOptions& options, const CampaignHooks& hooks)
      : options_(checked(options)),
        hooks_(hooks),
        folder_(options.out, options.resumed.has_value()),
        planned_(begin_plan(options, true)) {
    if (!options.resumed) write_plan(options.out, planned_);
  }

  GateReport run() {
    forget_verdict(options_.out);
    for (const SuiteTaskCommands& task : planned_.tasks) take_steps(task);
    GateReport report = whole_suites();
    report.baseline = options_.baseline.text;
    report.candidate = options_.candidate.text;
    report.campaign = planned_.id;
    report.alarm_error = options_.rules.options.alarm;
    report.same_error = options_.rules.options.same;
    return report;
  }

 private:
  static const CampaignOptions& checked(const CampaignOptions& options) {
    refuse_own_folders(options);
    return options;
  }

  double budget() const {
    return options_.budget_seconds.value_or(options_.rules.suites.budget_minutes * kMinute);
  }

  /// As many of the usual minutes as the steps' share of the whole has room for.
  double budget_of(const SuiteTaskCommands& task) const {
    const LockstepRules& rules = options_.rules.lockstep;
    const auto own = rules.budgets.find(task.workload);
    const double usual =
        kMinute * (own == rules.budgets.end() ? rules.budget_minutes : own->second);
    const auto tasks = static_cast<double>(planned_.tasks.size());
    return std::min(usual, budget() * options_.rules.suites.lockstep_share / tasks);
  }

  /// A campaign below this one's folder: a new one, or what an earlier process left of it.
  CampaignOptions part(const fs::path& folder, const std::string& id, double budget_seconds) const {
    CampaignOptions part = options_;
    part.out = folder;
    part.id = id;
    part.budget_seconds = budget_seconds;
    part.tasks.clear();
    part.resumed = options_.resumed ? read_plan(folder) : std::nullopt;
    part.rules.options.alarm = half_of(options_.rules.options.alarm);
    // One that was killed before it had a plan has nothing to go on with.
    if (!part.resumed) fs::remove_all(folder);
    return part;
  }

  void take_steps(const SuiteTaskCommands& task) {
    CampaignOptions steps =
        part(options_.out / kStepsFolder / task.workload, task.id, budget_of(task));
    steps.baseline = task.baseline;
    steps.candidate = task.candidate;
    steps.rules.options.alarm /= static_cast<double>(planned_.tasks.size());
    hooks_.say(fmt::format("{}: steps in lockstep", printable(task.workload, 60)));
    CampaignHooks hooks = hooks_;
    hooks.look_at_first = [](const GateReport&) {};
    hooks.show = [&](GateReport so_far, const CampaignProgress& progress) {
      name_after(task, so_far);
      hooks_.show(so_far, progress);
    };
    try {
      GateReport found = run_lockstep_campaign(steps, hooks);
      keep_verdict(steps.out, found);
      add_steps(task, std::move(found));
    } catch (const NeverBegan& why) {  // an old build, or one that does not know the task
      leave_to_suites(task, why.what_failed() + ": " + why.why());
    } catch (const TooFewPairs& why) {
      leave_to_suites(task, why.what_failed() + ": " + why.why());
    } catch (const BudgetTooSmall& why) {
      const std::string reason = fmt::format("its share of the budget is {}; {}",
                                             format_time_left(budget_of(task)), why.why());
      // What earlier nights measured is not lost with the time for another one.
      if (std::optional<GateReport> earlier = read_verdict(steps.out)) {
        earlier->notes.push_back("goes on with no more clusters: " + reason);
        add_steps(task, std::move(*earlier));
      } else {
        leave_to_suites(task, reason);
      }
    }
  }

  void add_steps(const SuiteTaskCommands& task, GateReport found) {
    name_after(task, found);
    methods_.push_back(found.method);
    append(found.rows, steps_.rows);
    append(found.notes, steps_.notes);
    append(found.forbidding, steps_.forbidding);
  }

  void leave_to_suites(const SuiteTaskCommands& task, const std::string& why) {
    steps_.notes.push_back(fmt::format("{} is judged by whole runs alone, not in lockstep: {}",
                                       printable(task.workload, 60), why));
    hooks_.say(steps_.notes.back());
  }

  GateReport whole_suites() {
    if (!steps_.forbidding.empty()) return steps_alone("they cannot be compared");
    if (!steps_.rows.empty() && exit_code(steps_, false) == ExitCode::kRegression) {
      return steps_alone("regressed without them");
    }
    const double left = budget() - seconds_since(start_);
    if (left <= 0) {
      GateRow row;
      row.tag = kSuitesFolder;
      row.note = "the steps spent the whole budget: nothing is left for a suite";
      steps_.rows.push_back(std::move(row));
      return steps_alone("the budget is spent");
    }
    const CampaignOptions suites = part(options_.out / kSuitesFolder, planned_.id, left);
    hooks_.say("whole suites in turn");
    CampaignHooks hooks = hooks_;
    hooks.look_at_first = [&](const GateReport& first) { hooks_.look_at_first(joined(first)); };
    GateReport found = run_campaign(suites, hooks);
    keep_verdict(suites.out, found);
    return joined(std::move(found));
  }

  GateReport steps_alone(const std::string& why) {
    GateReport report = steps_;
    std::vector<std::string> names;
    for (const SuiteTaskCommands& task : planned_.tasks) names.push_back(task.workload);
    report.subject = "steps of " + join(names, ", ");
    report.unit = "cluster";
    report.method = methods_.empty() ? "" : methods_.front();
    report.notes.push_back("whole suites are not run: " + why);
    return report;
  }

  /// What the suites say, with the rows of the steps before theirs.
  GateReport joined(GateReport report) const {
    report.rows.insert(report.rows.begin(), steps_.rows.begin(), steps_.rows.end());
    append(steps_.notes, report.notes);
    if (!methods_.empty()) {
      report.method += fmt::format(". Before them the steps of {}, each: {}",
                                   format_count(std::ssize(methods_), "task"), methods_.front());
    }
    return report;
  }

  const CampaignOptions& options_;
  const CampaignHooks& hooks_;
  CampaignFolder folder_;
  PlannedCampaign planned_;
  GateReport steps_{};  ///< of all tasks
  std::vector<std::string> methods_{};
  Steady::time_point start_ = Steady::now();
};

}  // namespace

GateReport run_suite_campaign(const CampaignOptions& options, const CampaignHooks& hooks) {
  return SuiteCampaign(options, hooks).run();
}

}  // namespace harness
