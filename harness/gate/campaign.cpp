#include "harness/gate/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/line_file.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/captured_output.hpp"
#include "harness/gate/shell_command.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

// ID,SIDE,PAIR: not an option, since the command line of each run is recorded as it was given.
constexpr const char* kVariable = "HARNESS_CAMPAIGN";
/// A command that hangs is ended so many seconds after the whole budget would have been spent.
constexpr double kPatience = 60;
constexpr std::int64_t kMostPairs = 1'000'000;

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const CampaignHooks& hooks)
      : options_(options),
        hooks_(hooks),
        of_results_(ends_in_harness_run(options.baseline)),
        baseline_{"baseline", {}},
        candidate_{"candidate", {}} {
    if (of_results_ != ends_in_harness_run(options.candidate)) {
      throw Error("--ab-base and --ab-cand", "one is a harness run, the other is not",
                  "give two commands of one kind; nothing may stand behind 'harness run OPTIONS'");
    }
    for (const std::string& command : {options.baseline, options.candidate}) {
      if (!of_results_ || command.find("--out") == std::string::npos) continue;
      throw Error("command '" + printable(command, 80) + "'", "has an --out of its own",
                  "leave it out: the gate gives each run a folder");
    }
    make_writable_folder(options.out);
    if (!fs::is_empty(options.out)) {
      throw Error("--out " + printable(options.out.string()), "the folder is not empty",
                  "campaigns are never mixed: choose another");
    }
    for (const char* side : {"baseline", "candidate"}) fs::create_directories(options.out / side);
    if (of_results_) return;
    times_ = {options.rules.command_metric, "s", Direction::kLower, {}, {}};
    lines_.emplace(options.out / "times.jsonl", "a time");
  }

  GateReport run() {
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    GateReport report;
    for (std::int64_t pair = 1;; ++pair) {
      run_pair(pair);
      report = GateReport{};
      const CampaignDecision decision = judge(report);
      if (pair == 1) hooks_.look_at_first(report);
      if (!report.forbidding.empty() || decision.finished) break;
      const double of_a_pair = elapsed() / static_cast<double>(pair);
      say(pair, report, decision, of_a_pair);
      if (options_.budget_seconds && elapsed() + of_a_pair > *options_.budget_seconds) {
        report.notes.push_back(fmt::format("the budget of {} was spent after {}",
                                           format_time_left(*options_.budget_seconds),
                                           format_count(pair, "pair")));
        break;
      }
    }
    report.baseline = options_.baseline;
    report.candidate = options_.candidate;
    report.campaign = options_.id;
    add_notes(report);
    return report;
  }

 private:
  // A B, B A, A B, ...: what drifts evenly weighs on both sides alike.
  void run_pair(std::int64_t pair) {
    const bool baseline_first = pair % 2 == 1;
    run_side(baseline_first ? baseline_ : candidate_, pair);
    run_side(baseline_first ? candidate_ : baseline_, pair);
  }

  void run_side(Side& side, std::int64_t pair) {
    cool_down(options_.pause_seconds);
    const std::string number = fmt::format("{:03}", pair);
    const fs::path folder = options_.out / side.name / number;
    const fs::path log = options_.out / side.name / (number + ".txt");
    std::string command = &side == &baseline_ ? options_.baseline : options_.candidate;
    if (of_results_) command += " --out " + shell_word(folder.string());
    const ShellRun run = run_shell_command(
        command, {{kVariable, fmt::format("{},{},{}", options_.id, side.name, pair)}}, log,
        options_.budget_seconds ? *options_.budget_seconds + kPatience : 0);
    note_output(fmt::format("{}, pair {}", side.name, pair), run, log);
    cool_down(0);  // no longer than it takes to see whether somebody asked to stop
    const auto fail = [&](const std::string& why, ExitCode code = ExitCode::kUsage) {
      throw Error(fmt::format("{}, pair {}", side.name, pair), why,
                  "its output is in " + printable(log.string()), code);
    };
    if (run.timed_out) fail("the command was ended: it took longer than the whole --budget");
    // A run that missed its quality target, or is invalid, has a result that says so.
    const bool invalid = run.exit_code == static_cast<int>(ExitCode::kInvalid);
    if (run.exit_code != 0 && !(of_results_ && invalid && fs::exists(folder))) {
      const std::string said = run.log_trouble.empty()
                                   ? last_line(log)
                                   : "what it printed could not be kept: " + run.log_trouble;
      fail(fmt::format("the command ended with exit code {}: {}", run.exit_code, said));
    }
    if (!of_results_) {
      (&side == &baseline_ ? times_.baseline : times_.candidate)[pair] = run.seconds;
      lines_->append(
          fmt::format(R"({{"side":"{}","pair":{},"seconds":{}}})", side.name, pair, run.seconds));
      return;
    }
    std::vector<Result> results = hooks_.read(folder);
    if (results.empty()) fail("the command left no result");
    const auto is_valid = [](const Result& one) { return one.status.state == RunState::kValid; };
    if (invalid && std::all_of(results.begin(), results.end(), is_valid)) {
      fail("the machine was not fit to measure on, which --strict refuses", ExitCode::kInvalid);
    }
    for (Result& result : results) {
      // Builds from before campaigns do not say it themselves.
      result.identity.campaign = CampaignPlace{options_.id, side.name, pair};
      side.runs.push_back(std::move(result));
    }
  }

  /// Said at once, for the first run; for all of them in the report.
  void note_output(const std::string& run_name, const ShellRun& run, const fs::path& log) {
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

  void add_notes(GateReport& report) const {
    if (cut_runs_ > 0) {
      report.notes.push_back(fmt::format("the output of {} was cut to its first and last {}",
                                         format_count(cut_runs_, "run"),
                                         format_quantity(static_cast<double>(kKeptOutput), "B")));
    }
    if (lost_runs_ > 0) {
      report.notes.push_back(fmt::format("the output of {} could not all be written",
                                         format_count(lost_runs_, "run")));
    }
  }

  CampaignDecision judge(GateReport& report) const {
    if (of_results_) {
      CampaignDecision decision;
      report = gate_results(baseline_, candidate_, options_.rules, &decision);
      return decision;
    }
    report.subject = "wall time of a command";
    return judge_pairs({times_}, options_.rules.options, report);
  }

  void say(std::int64_t pair, const GateReport& report, const CampaignDecision& decision,
           double of_a_pair) const {
    const GateRow& row = report.rows.front();
    const std::string ratio = row.improvement
                                  ? fmt::format("{:.4f} so far", row.improvement->center)
                                  : "too few pairs for a ratio";
    const auto left = static_cast<double>(decision.pairs_wanted) - static_cast<double>(pair);
    hooks_.say(fmt::format("pair {} of at most {}: {} {}; {}, next look in {}", pair,
                           options_.rules.options.most_pairs, row.tag, ratio,
                           decision.confirming ? "confirming with fresh pairs" : "exploring",
                           format_time_left(left * of_a_pair)));
  }

  const CampaignOptions& options_;
  const CampaignHooks& hooks_;
  bool of_results_;
  Side baseline_;
  Side candidate_;
  GateColumn times_{};  ///< of commands that are no harness run
  std::optional<LineFile> lines_{};
  std::int64_t cut_runs_ = 0;   ///< whose output is not all in its log
  std::int64_t lost_runs_ = 0;  ///< whose log could not be written
};

}  // namespace

GateReport run_campaign(const CampaignOptions& options, const CampaignHooks& hooks) {
  return Campaign(options, hooks).run();
}

void drop_stopped_pair(Side& baseline, Side& candidate) {
  std::int64_t last = 0;
  bool stopped = false;
  for (const Side* side : {&baseline, &candidate}) {
    for (const Result& run : side->runs) {
      if (!run.identity.campaign || run.identity.campaign->pair < last) continue;
      if (run.identity.campaign->pair > last) stopped = false;
      last = run.identity.campaign->pair;
      stopped = stopped || was_stopped(run.status);
    }
  }
  if (!stopped) return;
  for (Side* side : {&baseline, &candidate}) {
    std::erase_if(side->runs, [&](const Result& run) {
      return run.identity.campaign && run.identity.campaign->pair == last;
    });
  }
}

std::optional<CampaignPlace> inherited_campaign() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return std::nullopt;
  const std::vector<std::string> parts = split(text, ',');
  const auto pair = parts.size() == 3 ? parse_integer(parts[2]) : std::nullopt;
  const bool known = pair && *pair >= 1 && *pair <= kMostPairs && is_uuid(parts[0]) &&
                     (parts[1] == "baseline" || parts[1] == "candidate");
  if (!known) {
    throw Error(kVariable, "does not hold a place in a campaign", "unset it");
  }
  return CampaignPlace{parts[0], parts[1], *pair};
}

}  // namespace harness
