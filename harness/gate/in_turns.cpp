#include "harness/gate/in_turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/convergence_campaign.hpp"
#include "harness/gate/differences.hpp"
#include "harness/gate/lockstep_campaign.hpp"
#include "harness/gate/plan_file.hpp"
#include "harness/gate/suite_campaign.hpp"
#include "harness/lockstep/protocol.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr double kMinute = 60;
constexpr const char* kConvergenceFolder = "convergence";
// Its steps are timed in lockstep; what trains to a target has no steps of its own.
const std::vector<std::string> kSpeedTier = {"--tier", "quick"};

/// The rules of this program.
std::string own_rules(const std::string& workload) {
  return (home_folder() / "rules" / (workload + ".json")).string();
}

AskedCommand under(const std::string& rules, const AskedCommand& command) {
  return command.with({"--rules", rules});
}

/// A task has rules of its own.
bool has_rules(const AskedCommand& command) {
  return command.has("--rules") || command.has("--task");
}

/// Whole trainings behind the campaign in lockstep, whose report gets their rows.
void add_convergence(const CampaignOptions& speed, const CampaignHooks& hooks, GateReport& report) {
  if (speed.trained_baseline.text.empty() || !report.forbidding.empty()) return;
  const auto skip = [&](const std::string& why) {
    report.notes.push_back("convergence is not judged: " + why);
  };
  if (speed.convergence_budget_seconds == 0.0) return skip("--convergence-budget 0");
  if (exit_code(report, false) == ExitCode::kRegression) return skip("regressed without it");
  CampaignOptions campaign = speed;
  campaign.baseline = speed.trained_baseline;
  campaign.candidate = speed.trained_candidate;
  campaign.anchor = campaign.trained_baseline = campaign.trained_candidate = AskedCommand{};
  campaign.out = speed.out / kConvergenceFolder;
  campaign.budget_seconds = speed.convergence_budget_seconds;
  campaign.resumed = speed.resumed ? read_plan(campaign.out) : std::nullopt;
  CampaignHooks quiet = hooks;
  quiet.look_at_first = [](const GateReport&) {};
  const GateReport found = run_convergence_campaign(campaign, quiet);
  report.rows.insert(report.rows.end(), found.rows.begin(), found.rows.end());
  report.notes.insert(report.notes.end(), found.notes.begin(), found.notes.end());
  report.forbidding = found.forbidding;
  report.method += ". Convergence: " + found.method;
}

GateReport lockstep_then_convergence(const CampaignOptions& campaign, const CampaignHooks& hooks) {
  GateReport report = run_lockstep_campaign(campaign, hooks);
  add_convergence(campaign, hooks, report);
  return report;
}

/// The campaign by its steps, with the trainings behind it; nothing where a command names its tier.
std::optional<CampaignOptions> by_steps(const CampaignOptions& campaign) {
  CampaignOptions steps = campaign;
  steps.trained_baseline = campaign.baseline;
  steps.trained_candidate = campaign.candidate;
  for (AskedCommand* command : {&steps.baseline, &steps.candidate, &steps.anchor}) {
    if (command->has("--tier")) return std::nullopt;
    if (command->leaves_results()) *command = command->with(kSpeedTier);
  }
  return steps;
}

bool trains_to_target(const NoLockstep& why) {
  return why.why().find(kTrainsToTarget) != std::string::npos;
}

/// Whole suites take long: nobody waits for as many as could be judged.
void check_suites(CampaignOptions& campaign, Measuring how) {
  if (how == Measuring::kLockstep) {
    throw Error("--lockstep", "a suite does not step when told", "leave it out");
  }
  if (!campaign.anchor.text.empty()) {
    throw Error("--anchor", "is for single runs, not for suites", "leave it out");
  }
  if (campaign.resumed || campaign.budget_seconds) return;
  campaign.budget_seconds = campaign.rules.suites.budget_minutes * kMinute;
}

GateReport measure_in_turns(CampaignOptions campaign, Measuring how, const CampaignHooks& hooks) {
  if (!campaign.tasks.empty()) return run_suite_campaign(campaign, hooks);
  if (campaign.resumed) {
    return campaign.resumed->whole ? run_campaign(campaign, hooks)
                                   : lockstep_then_convergence(campaign, hooks);
  }
  const bool asked = how == Measuring::kLockstep;
  const bool of_results = campaign.baseline.is_run() && campaign.candidate.is_run();
  const bool whole = !asked && (!of_results || how == Measuring::kWhole);
  if (whole && !campaign.anchor.text.empty()) {
    throw Error("--anchor", "needs sides that step in turn", "--lockstep, or leave it out");
  }
  if (whole) return run_campaign(campaign, hooks);
  std::vector<std::string> notes;
  const auto again_with = [&](const std::string& note) {
    begin_anew(campaign.out);
    hooks.say(note);
    notes.push_back(note);
  };
  const auto measure = [&] {
    try {
      return lockstep_then_convergence(campaign, hooks);
    } catch (const AnchorRules& other) {
      const std::string rules = own_rules(other.workload());
      again_with("the anchor's rules differ: it runs with --rules " + printable(rules));
      campaign.anchor = under(rules, campaign.anchor);
      return lockstep_then_convergence(campaign, hooks);
    }
  };
  const auto measure_steps = [&] {
    try {
      return measure();
    } catch (const NoLockstep& why) {
      const std::optional<CampaignOptions> steps = by_steps(campaign);
      if (!trains_to_target(why) || !steps) throw;
      begin_anew(campaign.out);
      hooks.say("the commands train to a target: steps in turn first, then whole trainings");
      campaign = *steps;
      return measure();
    }
  };
  GateReport report;
  try {
    report = measure_steps();
  } catch (const NoLockstep& why) {
    if (asked) throw;
    again_with(fmt::format("not in lockstep, which is more precise: {}: {}", why.what_failed(),
                           why.why()));
    if (!campaign.anchor.text.empty()) {
      notes.emplace_back("creep is not looked for: that needs lockstep");
    }
    report = run_campaign(campaign, hooks);
  }
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  return report;
}

}  // namespace

GateReport run_in_turns(CampaignOptions campaign, Measuring how, const CampaignHooks& hooks) {
  if (campaign.baseline.is_suite()) check_suites(campaign, how);
  GateReport report = measure_in_turns(campaign, how, hooks);
  if (campaign.resumed || !rules_alone_forbid(report)) return report;
  const auto differs = [](const GateDifference& one) {
    return is_difference_in(one, kRulesDiffer);
  };
  if (std::none_of(report.forbidding.begin(), report.forbidding.end(), differs)) return report;
  if (campaign.baseline.is_suite()) {
    report.notes.emplace_back(
        "the tasks of a suite run under the rules of their own program; --accept-rules begins a "
        "new baseline");
    return report;
  }
  const std::string rules = own_rules(report.workload);
  for (AskedCommand* command : {&campaign.baseline, &campaign.candidate}) {
    if (has_rules(*command)) return report;
    *command = under(rules, *command);
  }
  AskedCommand& anchor = campaign.anchor;
  if (anchor.is_run() && !has_rules(anchor)) anchor = under(rules, anchor);
  const std::string what = "the sides' rules differ: both run with --rules " + printable(rules);
  hooks.say(what);
  begin_anew(campaign.out);
  try {
    GateReport again = measure_in_turns(campaign, how, hooks);
    again.notes.push_back(what);
    return again;
  } catch (const NeverBegan& why) {
    report.notes.push_back(fmt::format(
        "not both sides can run with --rules {}: {} {}; --accept-rules begins a new baseline",
        printable(rules), why.what_failed(), why.why()));
    return report;
  }
}

}  // namespace harness
