#include "harness/gate/whole_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

bool exited_with(const ShellRun& run, ExitCode code) {
  return run.exit_code == static_cast<int>(code);
}

bool all_missed_target(const std::vector<Result>& runs) {
  return !runs.empty() && std::all_of(runs.begin(), runs.end(),
                                      [](const Result& run) { return missed_target(run.status); });
}

}  // namespace

fs::path run_folder(const fs::path& out, const std::string& side, std::int64_t pair) {
  return out / side / fmt::format("{:03}", pair);
}

double most_seconds(const CampaignOptions& options) {
  constexpr double kPatience = 60;
  return options.budget_seconds ? *options.budget_seconds + kPatience : 0;
}

WholeRun WholeRuns::run(const std::string& side, std::int64_t pair, const AskedCommand& command) {
  cool_down(pause_seconds_);
  const fs::path folder = run_folder(options_.out, side, pair);
  const fs::path log = folder.string() + ".txt";
  const bool of_results = command.leaves_results();
  Variables environment;
  if (of_results) environment = command.with({"--out", folder.string()}).variables();
  environment.push_back(campaign_variable({id_, side, pair}));
  const ShellRun shell = run_shell_command(command.text, environment, log, most_seconds(options_));
  note_output(fmt::format("{}, pair {}", side, pair), shell, log);
  cool_down(0);  // no longer than it takes to see whether somebody asked to stop
  WholeRun run;
  run.seconds = shell.seconds;
  if (shell.timed_out) {
    run.failure = "the command was ended: it took longer than the whole --budget";
    run.final = true;
    return run;
  }
  // A run that missed its quality target, or is invalid, has a result that says so.
  const bool invalid = exited_with(shell, ExitCode::kInvalid);
  const bool may_be_told = invalid || exited_with(shell, ExitCode::kAborted);
  if (of_results && fs::exists(folder) && (shell.exit_code == 0 || may_be_told)) {
    run.results = exited_with(shell, ExitCode::kAborted) ? missed_in(folder) : hooks_.read(folder);
  }
  if (shell.exit_code != 0 && run.results.empty()) {
    const std::string said = shell.log_trouble.empty()
                                 ? last_line(log)
                                 : "what it printed could not be kept: " + shell.log_trouble;
    run.failure = fmt::format("the command ended with exit code {}: {}", shell.exit_code, said);
  } else if (of_results && run.results.empty()) {
    run.failure = "the command left no result";
  }
  const auto is_valid = [](const Result& one) { return one.status.state == RunState::kValid; };
  if (invalid && std::all_of(run.results.begin(), run.results.end(), is_valid) &&
      run.failure.empty()) {
    run.failure = "the machine was not fit to measure on, which --strict refuses";
    run.code = ExitCode::kInvalid;
    run.final = true;
  }
  return run;
}

std::vector<Result> WholeRuns::left_in(const fs::path& folder) const {
  try {
    return hooks_.read(folder);
  } catch (const Error&) {
    return {};
  }
}

// Who missed a target ends as who was stopped does; there the command's own last words tell more.
std::vector<Result> WholeRuns::missed_in(const fs::path& folder) const {
  std::vector<Result> results = left_in(folder);
  return all_missed_target(results) ? results : std::vector<Result>{};
}

// Said at once, for the first run; for all of them in the report.
void WholeRuns::note_output(const std::string& run_name, const ShellRun& run, const fs::path& log) {
  const std::string where = printable(log.string());
  if (run.cut_bytes > 0 && ++cut_runs_ == 1) {
    hooks_.say(fmt::format("{}: its output of {} is cut: {} has the first and last {}", run_name,
                           format_quantity(static_cast<double>(run.output_bytes), "B"), where,
                           format_quantity(static_cast<double>(kKeptOutput), "B")));
  }
  if (!run.log_trouble.empty() && ++lost_runs_ == 1) {
    hooks_.say(fmt::format("{}: its output could not all be kept: {}: {}", run_name, where,
                           run.log_trouble));
  }
}

void WholeRuns::add_notes(GateReport& report) const {
  if (cut_runs_ > 0) {
    report.notes.push_back(fmt::format("the output of {} was cut to its first and last {}",
                                       format_count(cut_runs_, "run"),
                                       format_quantity(static_cast<double>(kKeptOutput), "B")));
  }
  if (lost_runs_ > 0) {
    report.notes.push_back(
        fmt::format("the output of {} could not all be written", format_count(lost_runs_, "run")));
  }
}

GateReport failure_report(const CampaignOptions& options, const std::string& why) {
  GateReport report;
  report.subject = options.baseline.text + " against " + options.candidate.text;
  report.method = "the candidate failed twice";
  GateRow row;
  row.tag = "candidate";
  row.group = GateGroup::kQuality;
  row.verdict = Verdict::kRegressed;
  row.note = why;
  report.rows.push_back(std::move(row));
  return report;
}

}  // namespace harness
