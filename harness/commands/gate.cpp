#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/suite.hpp"
#include "harness/gate/asking.hpp"
#include "harness/gate/campaign.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/campaign_screen.hpp"
#include "harness/gate/forms.hpp"
#include "harness/gate/gate.hpp"
#include "harness/gate/in_turns.hpp"
#include "harness/gate/plan_file.hpp"
#include "harness/gate/rules.hpp"
#include "harness/gate/suite_campaign.hpp"
#include "harness/gate/verdict_file.hpp"
#include "harness/kinds/suite/side_results.hpp"
#include "harness/measure/identity.hpp"
#include "harness/measure/progress.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

// With fewer nothing can be called the same (fewest_clusters).
constexpr std::int64_t kFewestPairs = 14;
constexpr std::int64_t kMostPairs = 10000;
constexpr double kMostBudgetMinutes = 1e6;
/// What a campaign that goes on is not told again, since its folder knows it.
const std::vector<std::string> kBeginning = {
    "baseline", "candidate", "ab-base", "ab-cand", "anchor", "lockstep", "whole", "pool", "pause"};
/// Whoever leaves them out may get another verdict.
const std::vector<std::string> kJudging = {"metric", "on-inconclusive", "accept-rules",
                                           "allow-debug"};
const std::vector<std::string> kExtent = {"pairs", "budget", "convergence-budget"};
const std::vector<std::string> kForms = {"format", "also"};

std::vector<std::string> together(std::initializer_list<std::vector<std::string>> lists) {
  std::vector<std::string> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Options gate_options() {
  Options options(
      "gate",
      "Tells whether a candidate is as fast as its baseline, as frugal and as right: for CI. "
      "It takes result files (a file or a folder for each side, all runs of one set-up, or whole "
      "suites, from six hours or of one campaign), or two commands, 'harness run' or 'harness "
      "suite' say, which it runs in turn until it can tell.",
      "--baseline PATH --candidate PATH | --ab-base CMD --ab-cand CMD | --resume DIR");
  options.add("baseline", "results to hold the candidate to", "PATH")
      .add("candidate", "results to judge", "PATH")
      .add("ab-base",
           "command for the baseline; of a 'harness run' or 'harness suite' in it the results are "
           "judged",
           "CMD")
      .add("ab-cand", "command for the candidate", "CMD")
      .add("anchor",
           "command for a third side in lockstep, a release say, that creep from night to night is "
           "held to",
           "CMD")
      .add("resume", "go on with the stopped campaign in this folder", "DIR")
      .add("accept-rules",
           "where rules or checks differ that not both sides can run under, or the baseline is too "
           "old to be asked: exit 0, a new baseline")
      .add("pool", "if the campaign stays inconclusive, --resume may add another to it")
      .add("lockstep", "both commands speak the protocol of docs/lockstep.md")
      .add("whole", "time whole runs also where both could step in lockstep")
      .add_integer("pairs",
                   "pairs of runs, or clusters, to plan at most; default: by rules/gate.json",
                   kFewestPairs, kMostPairs)
      .add_number("budget", "plan no more than so many minutes have room for", "MINUTES", 0,
                  kMostBudgetMinutes)
      .add_number("convergence-budget",
                  "minutes for whole trainings, where the commands train to a target; 0: none",
                  "MINUTES", 0, kMostBudgetMinutes)
      .add_number("pause", "seconds to cool down before each run", "S", 0, kMostPauseSeconds)
      .add("out", "folder for a campaign's files; default: a new one under runs/", "DIR")
      .add_list("metric",
                "show and count this metric alone, of one task or of all; may be repeated", "TAG")
      .add("on-inconclusive", "fail (exit 5, the default) or pass (exit 0)", "fail|pass")
      .add("allow-debug", "judge debug and sanitizer builds, too, whose times mean little")
      .add("format", "text (the default), json, markdown or junit", "FORMAT")
      .add_list("also", "write the report to a file, too; may be repeated", "FORMAT=FILE")
      .example("harness gate --baseline results/before --candidate runs/now")
      .example("harness gate --resume runs/gate-20261123-093000")
      .example("harness gate --budget 30 --ab-base './old run ...' --ab-cand './new run ...'")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid,
              ExitCode::kRegression, ExitCode::kInconclusive});
  return options;
}

std::string choice(const Options& options, const std::string& name, const std::string& otherwise,
                   const std::vector<std::string>& allowed) {
  std::string value = options.text(name).value_or(otherwise);
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    throw Error(fmt::format("--{} '{}'", name, printable(value)), "unknown",
                "one of " + join(allowed, ", "));
  }
  return value;
}

Measuring asked_measuring(const Options& options) {
  const bool lockstep = options.flag("lockstep");
  const bool whole = options.flag("whole");
  if (lockstep && whole) throw Error("--lockstep", "with --whole", "choose one");
  if (whole && options.text("anchor")) throw Error("--anchor", "with --whole", "choose one");
  if (lockstep) return Measuring::kLockstep;
  return whole ? Measuring::kWhole : Measuring::kAsFits;
}

/// A campaign that goes on is what its folder says.
void take_resumed(const Options& options, CampaignOptions& campaign) {
  const std::string folder = options.required("resume");
  for (const std::string& name : together({kBeginning, {"out"}})) {
    if (options.flag(name)) throw Error("--" + name, "is as the campaign began");
  }
  campaign.out = fs::absolute(folder);
  campaign.resumed = read_plan(campaign.out);
  if (!campaign.resumed || campaign.resumed->baseline.text.empty()) {
    throw Error("--resume " + printable(folder), "holds no campaign to go on with",
                "give the folder that 'harness gate' named");
  }
  if (!campaign.resumed->asked) {
    throw Error("--resume " + printable(folder), "was begun by an earlier version",
                "start a new campaign; its files can still be judged");
  }
  go_on_by_plan(campaign, options.flag("pairs"));
}

/// Where the numbers of a campaign lie, and how they are judged again.
std::string what_is_left(const Options& options, const fs::path& out) {
  for (const char* name : {"campaign.jsonl", "times.jsonl"}) {
    if (fs::exists(out / name)) return "all times are in " + (out / name).string();
  }
  // Of suites, those behind the steps of their tasks, if they came to it.
  const bool steps = fs::exists(out / kStepsFolder);
  const fs::path runs = steps ? out / kSuitesFolder : out;
  if (!fs::exists(runs)) return "all times are in " + (out / kStepsFolder).string();
  const std::string sides =
      fmt::format(" --baseline {} --candidate {}", pasted_word((runs / "baseline").string()),
                  pasted_word((runs / "candidate").string()));
  return "the runs, judged again by: " + options.written_whole(sides, kJudging);
}

/// Of standard error; 0 where lines cannot be taken back.
int columns_to_redraw() {
  const char* terminal = std::getenv("TERM");
  const bool plain = terminal == nullptr || std::string_view(terminal) == "dumb";
  return plain ? 0 : terminal_columns(stderr);
}

/// The steps of the tasks that both suites have; none, with a note that says why, where these
/// cannot be told from the commands.
std::vector<SuiteTaskCommands> tasks_in_steps(const CampaignOptions& campaign,
                                              std::vector<std::string>& notes) {
  std::vector<SuiteTaskCommands> tasks;
  if (!campaign.baseline.is_suite() || !campaign.candidate.is_suite()) return tasks;
  try {
    const std::vector<TaskSteps> candidate = steps_of_suite(campaign.candidate);
    for (const TaskSteps& before : steps_of_suite(campaign.baseline)) {
      const auto now = std::find_if(candidate.begin(), candidate.end(), [&](const TaskSteps& one) {
        return one.workload == before.workload;
      });
      if (now == candidate.end()) continue;
      tasks.push_back({before.workload, new_uuid(), before.command, now->command});
    }
  } catch (const Error& error) {
    notes.push_back(std::string("the suites' steps are not timed in lockstep: ") + error.what());
    tasks.clear();
  }
  return tasks;
}

void take_new(const Options& options, CampaignOptions& campaign) {
  campaign.baseline.text = options.required("ab-base");
  campaign.candidate.text = options.required("ab-cand");
  campaign.anchor.text = options.text("anchor").value_or("");
  campaign.out = fs::absolute(options.text("out").value_or(new_run_folder("gate").string()));
  campaign.id = new_uuid();
  campaign.pool = options.flag("pool");
}

/// `out` becomes the folder of the campaign.
GateReport run_commands(const Options& options, const GateRules& rules, fs::path& out) {
  install_interrupt_handlers();
  const StopMessage message("stopping; a command in progress is asked to end");
  CampaignOptions campaign;
  campaign.rules = rules;
  if (options.text("resume")) {
    take_resumed(options, campaign);
  } else {
    take_new(options, campaign);
  }
  out = campaign.out;
  if (const auto minutes = options.number("budget")) campaign.budget_seconds = *minutes * 60;
  if (const auto minutes = options.number("convergence-budget")) {
    campaign.convergence_budget_seconds = *minutes * 60;
  }
  campaign.pause_seconds = options.number("pause").value_or(0);
  CampaignHooks hooks;
  hooks.read = [](const fs::path& folder) { return side_results(folder, SideOf::kCampaign); };
  hooks.look_at_first = [&](GateReport first) { keep_rows(first, options.texts("metric")); };
  CampaignScreen screen(stderr, columns_to_redraw());
  hooks.show = [&](const GateReport& so_far, const CampaignProgress& progress) {
    screen.show(so_far, progress);
  };
  hooks.say = [&](const std::string& line) { screen.say(line); };
  std::vector<std::string> notes;
  if (!campaign.resumed) {
    try {
      if (auto refused = ask_sides(campaign, asked_measuring(options), hooks)) return *refused;
    } catch (const Interrupted&) {
      throw Error("gate", "interrupted while the commands were asked what they are",
                  "nothing was measured: begin again", ExitCode::kAborted);
    }
    if (!options.flag("whole")) campaign.tasks = tasks_in_steps(campaign, notes);
  }
  try {
    GateReport report = run_in_turns(campaign, asked_measuring(options), hooks);
    report.notes.insert(report.notes.end(), notes.begin(), notes.end());
    report.notes.push_back(what_is_left(options, campaign.out));
    return report;
  } catch (const Interrupted&) {
    throw Error("gate", "interrupted; what was measured is in " + printable(campaign.out.string()),
                "go on: " + options.written_whole(" --resume " + pasted_word(campaign.out.string()),
                                                  together({kExtent, kJudging, kForms})),
                ExitCode::kAborted);
  }
}

/// What the campaign of these files planned, by --pairs or by the file beside them.
std::optional<GatePlan> planned(const Options& options, const Side& baseline) {
  if (const auto pairs = options.integer("pairs")) {
    return GatePlan{{Night{static_cast<std::size_t>(*pairs), std::nullopt}}};
  }
  if (baseline.runs.empty() || !baseline.runs.front().identity.campaign) return std::nullopt;
  const fs::path folder = fs::weakly_canonical(baseline.name).parent_path();
  const std::optional<PlannedCampaign> campaign = read_plan(folder);
  // Results that were moved beside another campaign's plan.
  const bool own = campaign && campaign->id == baseline.runs.front().identity.campaign->id;
  return own && !campaign->plan.nights.empty() ? std::optional(campaign->plan) : std::nullopt;
}

GateReport judge_files(const Options& options, const GateRules& rules) {
  const std::string baseline = options.required("baseline");
  const std::string candidate = options.required("candidate");
  for (const char* name : {"budget", "convergence-budget", "pause", "out", "anchor"}) {
    if (options.text(name)) throw Error(std::string("--") + name, "is for --ab-base and --ab-cand");
  }
  Side before{baseline, side_results(baseline, SideOf::kFiles)};
  Side now{candidate, side_results(candidate, SideOf::kFiles)};
  drop_stopped_pair(before, now);
  return gate_results(before, now, rules, planned(options, before));
}

struct AlsoWritten {
  std::string format{};
  fs::path file{};
};

std::vector<AlsoWritten> also_written(const Options& options) {
  std::vector<AlsoWritten> list;
  for (const std::string& text : options.texts("also")) {
    const std::size_t at = text.find('=');
    const std::string format = text.substr(0, at);
    const bool known =
        std::find(kGateFormats.begin(), kGateFormats.end(), format) != kGateFormats.end();
    if (at == std::string::npos || at + 1 == text.size() || !known) {
      throw Error("--also '" + printable(text) + "'", "is not FORMAT=FILE",
                  "for example --also markdown=gate.md");
    }
    list.push_back({format, text.substr(at + 1)});
  }
  return list;
}

/// The command that judges again; with a row's metric it shows that row.
void add_repeats(GateReport& report, const Options& options) {
  const std::vector<std::string> all = together({kBeginning, {"resume"}, kExtent, kJudging});
  report.repeat = options.written_whole("", all);
  std::vector<std::string> without_metrics = all;
  std::erase(without_metrics, "metric");
  const std::string command = options.written_whole("", without_metrics);
  for (GateRow& row : report.rows) {
    const bool is_metric = row.margin > 0;
    row.repeat = is_metric ? command + " --metric " + pasted_word(row.tag) : command;
  }
}

/// Each of them, even when one fails; the first failure is thrown in the end.
void write_also(const std::vector<AlsoWritten>& also, const std::vector<std::string>& inputs,
                const std::function<std::string(const std::string& format)>& render_as) {
  std::optional<Error> failure;
  for (const AlsoWritten& one : also) {
    try {
      refuse_to_replace(one.file, inputs);  // a campaign may have written there since
      write_file_atomically(one.file, render_as(one.format));
    } catch (const Error& error) {
      if (!failure) failure = error;
    }
  }
  if (failure) throw Error(*failure);
}

/// Before hours of measuring.
void check_places(const std::vector<AlsoWritten>& also, const std::vector<std::string>& inputs) {
  for (const AlsoWritten& one : also) {
    std::error_code ignored;
    const fs::path folder = one.file.has_parent_path() ? one.file.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, ignored)) {
      throw Error("--also " + printable(one.file.string()), "there is no such folder",
                  "make it first");
    }
    refuse_to_replace(one.file, inputs);
  }
}

GateReport judge(const Options& options, bool commands) {
  GateRules rules = load_gate_rules(home_folder());
  if (const auto pairs = options.integer("pairs")) {
    rules.options.most_clusters = static_cast<std::size_t>(*pairs);
  }
  rules.allow_debug = options.flag("allow-debug");
  fs::path campaign;
  GateReport report =
      commands ? run_commands(options, rules, campaign) : judge_files(options, rules);
  report.rules_accepted = options.flag("accept-rules") && rules_alone_forbid(report);
  if (report.rules_accepted) {
    report.notes.emplace_back(
        "nothing was compared: the candidate is the new baseline (--accept-rules)");
  }
  keep_rows(report, options.texts("metric"));
  if (commands) keep_verdict(campaign, report);
  add_repeats(report, options);
  return report;
}

}  // namespace

ExitCode gate_command(const Arguments& arguments) {
  Options options = gate_options();
  if (!options.parse(arguments)) return ExitCode::kOk;
  const bool passes = choice(options, "on-inconclusive", "fail", {"fail", "pass"}) == "pass";
  const std::string format = choice(options, "format", "text", kGateFormats);
  const std::vector<AlsoWritten> also = also_written(options);
  const bool commands =
      options.text("ab-base") || options.text("ab-cand") || options.text("resume");
  if (commands && (options.text("baseline") || options.text("candidate"))) {
    throw Error("gate", "files and commands at once", "give --baseline and --candidate, or --ab-*");
  }
  std::vector<std::string> inputs;
  for (const char* side : {"baseline", "candidate"}) {
    if (const auto path = options.text(side)) inputs.push_back(*path);
  }
  check_places(also, inputs);
  GateReport report;
  try {
    report = judge(options, commands);
  } catch (const Error& error) {
    // A CI server that reads files must not find those of the night before.
    try {
      write_also(also, inputs, [&](const std::string& as) { return render_gate_error(as, error); });
    } catch (const Error&) {  // the first error is the one to tell
    }
    throw;
  }
  print_out(render_gate(report, format, passes));
  flush_out();
  write_also(also, inputs, [&](const std::string& as) { return render_gate(report, as, passes); });
  return exit_code(report, passes);
}

}  // namespace harness
