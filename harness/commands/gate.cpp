#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/commands/command.hpp"
#include "harness/gate/campaign.hpp"
#include "harness/gate/forms.hpp"
#include "harness/gate/gate.hpp"
#include "harness/gate/rules.hpp"
#include "harness/gate/shell_command.hpp"
#include "harness/measure/identity.hpp"
#include "harness/result/result_folder.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

// With fewer a few metrics can hardly be explored and confirmed.
constexpr std::int64_t kFewestPairs = 16;
constexpr std::int64_t kMostPairs = 10000;
constexpr double kMostBudgetMinutes = 1e6;

Options gate_options() {
  Options options(
      "gate",
      "Tells whether a candidate is as fast as its baseline, as frugal and as right: for CI. "
      "It takes result files (a file or a folder for each side, all runs of one set-up), or two "
      "commands, which it runs in turn until it can tell.",
      "--baseline PATH --candidate PATH | --ab-base CMD --ab-cand CMD [OPTIONS]");
  options.add("baseline", "results to hold the candidate to", "PATH")
      .add("candidate", "results to judge", "PATH")
      .add("ab-base", "command for the baseline; of a 'harness run' the results are judged", "CMD")
      .add("ab-cand", "command for the candidate", "CMD")
      .add_integer("pairs", "most pairs of runs; default: by rules/gate.json", kFewestPairs,
                   kMostPairs)
      .add_number("budget", "begin no pair that would end after so many minutes", "MINUTES", 0,
                  kMostBudgetMinutes)
      .add_number("pause", "seconds to cool down before each run", "S", 0, kMostPauseSeconds)
      .add("out", "folder for a campaign's files; default: a new one under runs/", "DIR")
      .add_list("metric", "show and count this metric alone; may be repeated", "TAG")
      .add("on-inconclusive", "fail (exit 5, the default) or pass (exit 0)", "fail|pass")
      .add("format", "text (the default), json, markdown or junit", "FORMAT")
      .add_list("also", "write the report to a file, too; may be repeated", "FORMAT=FILE")
      .example("harness gate --baseline results/before --candidate runs/now")
      .example("harness gate --budget 30 --ab-base './old run ...' --ab-cand './new run ...'")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid,
              ExitCode::kRegression, ExitCode::kInconclusive});
  return options;
}

/// The sound results in a file or below a folder, one a run.
std::vector<Result> read_results(const fs::path& path) {
  std::vector<Result> results;
  for (const std::string& file : result_files({path.string()})) {
    CheckedFile checked = check_file(file);
    const std::string name = printable(file);
    require_sound(checked, ExitCode::kUsage);
    if (!checked.report.result) throw Error(name, "is no result of a run", "leave it out");
    results.push_back(std::move(*checked.report.result));
  }
  require_whole_series(path, results);
  return one_per_run(std::move(results));
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

GateReport run_commands(const Options& options, const GateRules& rules) {
  install_interrupt_handlers();
  const StopMessage message("stopping; a command in progress is asked to end");
  CampaignOptions campaign;
  campaign.baseline = options.required("ab-base");
  campaign.candidate = options.required("ab-cand");
  campaign.out = fs::absolute(options.text("out").value_or(new_run_folder("gate").string()));
  campaign.id = new_uuid();
  campaign.rules = rules;
  if (const auto minutes = options.number("budget")) campaign.budget_seconds = *minutes * 60;
  campaign.pause_seconds = options.number("pause").value_or(0);
  CampaignHooks hooks;
  hooks.read = read_results;
  hooks.look_at_first = [&](GateReport first) { keep_rows(first, options.texts("metric")); };
  hooks.say = [](const std::string& line) { print_err(line + "\n"); };
  const auto side = [&](const char* name) { return shell_word((campaign.out / name).string()); };
  const bool of_results = ends_in_harness_run(campaign.baseline);
  try {
    GateReport report = run_campaign(campaign, hooks);
    report.notes.push_back(
        of_results
            ? fmt::format("the runs, judged again by: harness gate --baseline {} --candidate {}",
                          side("baseline"), side("candidate"))
            : "the times are in " + (campaign.out / "times.jsonl").string());
    return report;
  } catch (const Interrupted&) {
    throw Error("gate", "interrupted; what was measured is in " + printable(campaign.out.string()),
                of_results ? fmt::format("harness gate --baseline {} --candidate {} judges it",
                                         side("baseline"), side("candidate"))
                           : "the times are in times.jsonl",
                ExitCode::kAborted);
  }
}

GateReport judge_files(const Options& options, const GateRules& rules) {
  const std::string baseline = options.required("baseline");
  const std::string candidate = options.required("candidate");
  for (const char* name : {"budget", "pause", "out"}) {
    if (options.text(name)) throw Error(std::string("--") + name, "is for --ab-base and --ab-cand");
  }
  Side before{baseline, read_results(baseline)};
  Side now{candidate, read_results(candidate)};
  drop_stopped_pair(before, now);
  return gate_results(before, now, rules);
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
  std::string command = "harness gate";
  for (const char* name : {"baseline", "candidate", "ab-base", "ab-cand", "pairs", "budget",
                           "pause", "on-inconclusive"}) {
    if (const auto value = options.text(name)) {
      command += fmt::format(" --{} {}", name, shell_word(*value));
    }
  }
  report.repeat = command;
  for (const std::string& tag : options.texts("metric")) {
    report.repeat += " --metric " + shell_word(tag);
  }
  for (GateRow& row : report.rows) {
    const bool is_metric = row.margin > 0;
    row.repeat = is_metric ? fmt::format("{} --metric {}", command, row.tag) : command;
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
    rules.options.most_pairs = static_cast<std::size_t>(*pairs);
  }
  GateReport report = commands ? run_commands(options, rules) : judge_files(options, rules);
  keep_rows(report, options.texts("metric"));
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
  const bool commands = options.text("ab-base") || options.text("ab-cand");
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
