#include "harness/mlperf/package.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/mlperf/convergence_check.hpp"
#include "harness/mlperf/log_check.hpp"
#include "harness/mlperf/log_judge.hpp"
#include "harness/mlperf/package_scripts.hpp"
#include "harness/mlperf/system_description.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/series.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Results that a package holds: the fastest and the slowest are dropped.
constexpr std::size_t kPackagedRuns = 5;
constexpr const char* kWholeSeries = "give all files of one 'harness run --runs 5'";

/// The value that the log gives `key` first; null where it does not.
json logged(const std::vector<LogLine>& lines, const std::string& key) {
  for (const LogLine& line : lines) {
    if (logged_member(line.event, "key") == key) return logged_member(line.event, "value");
  }
  return nullptr;
}

void refuse(const PackagedRun& run, const std::string& why, const std::string& hint = {}) {
  throw Error(printable(run.file), why, hint, ExitCode::kInvalid);
}

/// One run by itself. Returns its log's events.
std::vector<LogLine> check_run(const PackagedRun& run, const LogRules& rules, bool rehearsal) {
  // Rehearsals too are of MLPerf's model, whatever its size.
  const std::vector<std::string>& known = rules.benchmark.workloads;
  if (std::find(known.begin(), known.end(), run.result.rules.workload) == known.end()) {
    refuse(run, fmt::format("{} trains no {}", run.result.rules.workload, rules.benchmark.name),
           fmt::format("{} can be packed", join(known, ", ")));
  }
  if (!run.result.rules.mlperf_equivalent && !rehearsal) {
    refuse(run, fmt::format("{} is not MLPerf's own benchmark", run.result.rules.workload),
           "--rehearsal packs it, marked as one");
  }
  if (run.result.status.state == RunState::kDryRun) refuse(run, "a dry run is no measurement");
  std::vector<LogLine> lines = parse_log(run.log_text, rules.prefix, run.file + ": its log");
  const LogCheck check = check_log(rules, lines);
  if (!check.passed()) {
    const LogFinding& first = check.problems.front();
    refuse(run,
           fmt::format("its log breaks the rule {}: expected {}, actual {}", first.rule,
                       first.expected, first.actual),
           "'harness check-log' lists all");
  }
  if (logged(lines, "harness_workload") != run.result.rules.workload ||
      logged(lines, "seed") != run.result.seeds.run) {
    refuse(run, "its log is that of another workload or seed");
  }
  if (logged(lines, "submission_division") == "closed" && run.result.rules.division != "closed") {
    refuse(run, "its log says closed, but it is not", "a run that was resumed is open");
  }
  return lines;
}

/// What the settings of a series' runs share: all but what names the single run.
json comparable_settings(const Result& result) {
  json settings = result.settings.effective;
  for (const char* key : {"seed", "runs"}) settings.erase(key);
  return {settings, result.kernels, result.rules.sha256, result.rules.tier,
          result.system.value("fingerprint", json())};
}

void check_series(const std::vector<PackagedRun>& runs) {
  if (runs.size() != kPackagedRuns) {
    throw Error("submit --mlperf",
                fmt::format("{} given, a package holds {}",
                            format_count(std::ssize(runs), "result"), kPackagedRuns),
                "harness run --runs 5 makes as many");
  }
  std::set<std::uint32_t> seeds;
  std::set<std::string> uuids;
  SeriesBook book;
  std::size_t missed = 0;
  for (const PackagedRun& run : runs) {
    const Result& first = runs.front().result;
    if (run.result.rules.workload != first.rules.workload) {
      refuse(run, fmt::format("another workload than {}", first.rules.workload));
    }
    if (comparable_settings(run.result) != comparable_settings(first)) {
      refuse(run, "another machine, other rules, kernels or settings than the first result's");
    }
    if (!uuids.insert(run.result.identity.uuid).second) refuse(run, "the same run twice");
    book.add(printable(run.file), run.result);
    // Whoever chooses five of fifty shows the luckiest.
    if (run.result.identity.series_id != first.identity.series_id) {
      refuse(run, "another series than the first result's", kWholeSeries);
    }
    if (run.result.identity.run_count != static_cast<std::int64_t>(kPackagedRuns)) {
      refuse(
          run,
          fmt::format("run {} of a series of {}, a package is a whole series of {}",
                      run.result.identity.run_index, run.result.identity.run_count, kPackagedRuns),
          kWholeSeries);
    }
    if (!seeds.insert(run.result.seeds.run).second) {
      refuse(run, fmt::format("seed {} is there twice", run.result.seeds.run));
    }
    if (run.result.status.state != RunState::kValid && ++missed > 1) {
      refuse(run, "more than one run is not valid", "one of five may miss its target");
    }
  }
  for (const auto& lines : {book.contradictions(), book.gaps()}) {
    if (!lines.empty())
      throw Error("submit --mlperf", lines.front(), kWholeSeries, ExitCode::kInvalid);
  }
}

std::string score_text(const std::vector<LoggedRun>& runs, double factor) {
  const std::optional<double> minutes = score_minutes(runs, factor);
  if (!minutes) return "none: a time is missing";
  return fmt::format("{:.2f} min until the target, mean without the fastest and the slowest run",
                     *minutes);
}

/// Epochs and score of the whole series, whose results lie in folder `results` of the package.
void judge_convergence(Package& package, const std::vector<LoggedRun>& runs,
                       const ConvergencePoints& points, const std::string& results,
                       const std::string& mark, bool closed) {
  const ConvergenceCheck check = check_convergence(points, runs);
  if (!check.second_missed.empty()) {
    throw Error(printable(check.second_missed), "more than one run did not reach its target",
                "one of five may miss it", ExitCode::kInvalid);
  }
  package.convergence = convergence_text(check);
  // What is open may train otherwise than the reference, so nothing is held against it.
  if (closed && !check.passed()) {
    throw Error("submit --mlperf",
                "the runs fail MLPerf's check of convergence: " + package.convergence,
                "take a batch size of the reference, or --division open", ExitCode::kInvalid);
  }
  const double factor = closed ? check.factor : 1;
  package.score = score_text(runs, factor);
  if (factor > 1) {
    package.files[results + "scaling.json"] =
        json({{"scaling_factor", factor}, {"notice", mark}}).dump() + "\n";
  }
}

}  // namespace

PackagedRun read_packaged_run(const fs::path& file) {
  PackagedRun run{file.string(), read_result_file(file), {}};
  fs::path log = file;
  log.replace_extension(".log");
  if (!fs::exists(log)) {
    refuse(run, "has no log beside it: only training to a target enters a package");
  }
  run.log_text = read_file(log, kLargestLog);
  return run;
}

Package make_package(std::vector<PackagedRun> runs, const LogRules& rules,
                     const ConvergencePoints& points, bool rehearsal) {
  check_series(runs);
  // An order that nobody chooses.
  std::sort(runs.begin(), runs.end(), [](const PackagedRun& a, const PackagedRun& b) {
    return a.result.identity.started_at < b.result.identity.started_at;
  });
  const std::string mark = rehearsal
                               ? fmt::format("REHEARSAL, no submission. {}", kUnverifiedNotice)
                               : std::string(kUnverifiedNotice);
  Package package;
  std::map<std::string, std::string>& files = package.files;
  std::vector<LoggedRun> logged_runs;
  std::vector<LogLine> first;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<LogLine> lines = check_run(runs[i], rules, rehearsal);
    if (i == 0) first = lines;
    for (const char* key : {"submission_org", "submission_platform", "submission_division"}) {
      if (logged(lines, key) != logged(first, key)) {
        refuse(runs[i], fmt::format("its log names another {} than the first", key));
      }
    }
    logged_runs.push_back(logged_run(runs[i].file, lines));
  }
  const std::string platform = logged(first, "submission_platform").get<std::string>();
  const std::string system = folder_name(platform);
  const std::string results = fmt::format("results/{}/{}/", system, rules.benchmark.name);
  judge_convergence(package, logged_runs, points, results, mark,
                    logged(first, "submission_division") == "closed");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    // A line without the token is no event: the checkers skip it.
    files[fmt::format("{}result_{}.txt", results, i)] =
        fmt::format("# {}\n{}", mark, runs[i].log_text);
  }
  const Result& result = runs.front().result;
  const SystemDescriptionFacts facts = {
      logged(first, "submission_org").get<std::string>(),
      logged(first, "submission_division").get<std::string>(),
      platform,
      framework_of(result),
      fmt::format("{} Workload {}, commit {}.", mark, result.rules.workload,
                  result.identity.git_commit),
      result.world ? result.world->nodes : 1};
  files[fmt::format("systems/{}.json", system)] =
      system_description(facts, result.system).dump(2, ' ', true) + "\n";
  add_benchmark_folder(files, fmt::format("benchmarks/{}", rules.benchmark.name), system, mark,
                       result, package.score);
  return package;
}

}  // namespace harness
