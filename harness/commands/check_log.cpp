#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/options.hpp"
#include "harness/commands/command.hpp"
#include "harness/mlperf/convergence_check.hpp"
#include "harness/mlperf/log_check.hpp"
#include "harness/result/result_common.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kMostShown = 50;  // of one log, in text

std::string summary_text(const LogCheck& check) {
  if (check.passed()) return fmt::format("passes the log rules of MLPerf {}", check.ruleset);
  return fmt::format("breaks the log rules of MLPerf {}: {}", check.ruleset,
                     format_count(std::ssize(check.problems), "problem"));
}

void print(const char* what, const std::vector<LogFinding>& findings) {
  std::size_t shown = 0;
  for (const LogFinding& finding : findings) {
    if (++shown > kMostShown) {
      print_out(fmt::format("  and {} more\n", findings.size() - kMostShown));
      return;
    }
    const std::string place = finding.line > 0 ? fmt::format("line {}", finding.line) : "log";
    print_out(fmt::format("  {}{}: {}: expected {}, actual {}{}\n", what, place, finding.rule,
                          finding.expected, finding.actual,
                          finding.hint.empty() ? "" : fmt::format(" ({})", finding.hint)));
  }
}

json to_json(const std::vector<LogFinding>& findings) {
  json list = json::array();
  for (const LogFinding& finding : findings) {
    list.push_back({{"rule", finding.rule},
                    {"line", finding.line > 0 ? json(finding.line) : json()},
                    {"expected", finding.expected},
                    {"actual", finding.actual},
                    {"hint", finding.hint}});
  }
  return list;
}

json to_json(const std::string& file, const LogCheck& check) {
  return {{"file", printable(file)},
          {"verdict", check.passed() ? "passed" : "failed"},
          {"rules", check.groups},
          {"problems", to_json(check.problems)},
          {"notes", to_json(check.notes)}};
}

json to_json(const ConvergenceCheck& check) {
  const auto number = [](bool known, double value) { return known ? json(value) : json(); };
  const bool held = check.reference.has_value();
  return {{"verdict", check.passed() ? "passed" : "failed"},
          {"global_batch_size", check.batch_size},
          {"epochs", number(check.epochs > 0, check.epochs)},
          {"reference_epochs", number(held, held ? check.reference->mean : 0)},
          {"fewest_epochs", number(held, held ? check.reference->least : 0)},
          {"score_factor", check.factor},
          {"reason", convergence_text(check)}};
}

/// Empty where no set is to be judged.
std::optional<ConvergencePoints> points_of(const Options& options) {
  const std::optional<std::string> file = options.text("rcp-file");
  if (!file && !options.flag("rcp")) return std::nullopt;
  const std::filesystem::path home = home_folder();
  return load_convergence_points(
      home, file ? std::filesystem::path(*file) : standard_convergence_points(home));
}

/// Five times the same log are no set.
void refuse_twice(const std::vector<std::string>& files) {
  std::set<std::filesystem::path> seen;
  for (const std::string& file : files) {
    std::error_code ignored;
    if (!seen.insert(std::filesystem::weakly_canonical(file, ignored)).second) {
      throw Error(printable(file), "is given twice", "a set has another log for each run");
    }
  }
}

/// Said on stderr, too.
json no_set(const Error& error) {
  flush_out();
  print_err(fmt::format("harness: {}\n", printable(error.what(), 1000)));
  return {{"verdict", "no set"}, {"reason", printable(error.what(), 1000)}};
}

/// All logs as one set of runs.
json judge_set(const ConvergencePoints& points, const std::vector<LoggedRun>& runs, bool as_text) {
  ConvergenceCheck check;
  try {
    check = check_convergence(points, runs);
  } catch (const Error& error) {
    return no_set(error);
  }
  if (as_text) {
    print_out(fmt::format("{} {} MLPerf's check of convergence, {}: {}\n",
                          format_count(std::ssize(runs), "run"), check.passed() ? "pass" : "fail",
                          printable(points.ruleset, 64), convergence_text(check)));
  }
  return to_json(check);
}

}  // namespace

ExitCode check_log_command(const Arguments& arguments) {
  Options options("check-log",
                  "Judges training logs (:::MLLOG lines) by MLPerf's rules, as rules/ holds them.",
                  "FILE... [OPTIONS]");
  options
      .add("rules", fmt::format("file below rules/, without .json; default: {}", kLogRules), "NAME")
      .add("rcp",
           "hold the epochs of all files, the five runs of a set, against those of MLPerf's "
           "reference")
      .add("rcp-file", "the same by the points of a file, as rules/mlperf-convergence-5.1.0.json",
           "FILE")
      .add("json", "print the verdicts as JSON")
      .allow_words("file")
      .example("harness check-log runs/*/*.log")
      .example("harness check-log --rcp runs/NAME/*.log")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kInvalid});
  if (!options.parse(arguments)) return ExitCode::kOk;
  const LogRules rules = load_log_rules(home_folder(), options.text("rules").value_or(kLogRules));
  const std::optional<ConvergencePoints> points = points_of(options);
  if (points) refuse_twice(options.words());
  bool unreadable = false;
  bool failed = false;
  bool judged = false;
  json checks = json::array();
  std::vector<LoggedRun> runs;
  for (const std::string& file : options.words()) {
    try {
      const std::vector<LogLine> lines = read_log(file, rules.prefix);
      runs.push_back(logged_run(file, lines));
      const LogCheck check = check_log(rules, lines);
      failed = failed || !check.passed();
      judged = true;
      if (options.flag("json")) {
        checks.push_back(to_json(file, check));
        continue;
      }
      print_out(fmt::format("{}: {}\n", printable(file), summary_text(check)));
      print("", check.problems);
      print("note: ", check.notes);
    } catch (const Error& error) {
      unreadable = true;
      flush_out();
      print_err(fmt::format("harness: {}\n", printable(error.what(), 1000)));
      checks.push_back({{"file", printable(file)},
                        {"verdict", "unreadable"},
                        {"reason", printable(error.what(), 1000)}});
    }
  }
  json set;
  if (points) {
    set = unreadable ? no_set({"check of convergence", "not judged: a log of the set is unreadable",
                               "mend it, or give another set"})
                     : judge_set(*points, runs, !options.flag("json"));
    failed = failed || set.at("verdict") != "passed";
  }
  if (options.flag("json")) {
    json document = {{"ruleset", rules.ruleset}, {"notice", kUnverifiedNotice}, {"logs", checks}};
    if (set.is_object()) document["convergence"] = set;
    print_out(fmt::format("{}\n", document.dump(2, ' ', true, json::error_handler_t::replace)));
  } else if (judged) {
    print_out(fmt::format("{}\n", kUnverifiedNotice));
  }
  // What cannot be read goes first: the rest of the answer is incomplete then.
  if (unreadable) return ExitCode::kUsage;
  return failed ? ExitCode::kInvalid : ExitCode::kOk;
}

}  // namespace harness
