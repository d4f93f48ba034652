// A complete, valid suite of two tasks in two scenarios, held against a reference that was half as
// fast; and the runs behind it.
#pragma once

#include <string>
#include <vector>

#include "harness/kinds/suite/suite.hpp"
#include "harness/report/report_data.hpp"
#include "tests/support/sample_result.hpp"
#include "tests/support/validated.hpp"

namespace harness {

/// Driven by LoadGen: the single-stream scenario with its set-up chosen by measuring.
inline Result sample_query_run(const std::string& uuid, const std::string& workload,
                               const std::string& scenario) {
  Result run = sample_result();
  run.identity.uuid = uuid;
  run.rules.workload = workload;
  run.rules.scenario = scenario;
  run.settings.effective["threads"] = 2;
  run.settings.effective["batch_size"] = 8;
  run.settings.effective["precision"] = "bf16";
  LoadGenReport report;
  report.queries = 1024;
  report.seconds = 60;
  report.valid = true;
  report.figure = scenario == "offline" ? LoadGenFigure{"throughput.offline", "samples/s", 200}
                                        : LoadGenFigure{"latency.p90", "s", 0.004};
  report.percentiles = {{50, 0.003}, {90, 0.004}, {99.9, 0.3}};
  report.set_up = SetUpTrials{4, "", {{1, 1, 100, "fp32"}, {2, 8, 150, "bf16"}}};
  run.loadgen = report;
  return run;
}

inline std::vector<Result> sample_suite_runs() {
  return {sample_query_run("run-1", "classify", "single-stream"),
          sample_query_run("run-2", "classify", "offline"),
          sample_query_run("run-3", "embed", "single-stream"),
          sample_query_run("run-4", "embed", "offline")};
}

/// Its figures twice as good as those of the reference, which `twice` false leaves as they are.
inline Suite suite_of_runs(const std::vector<Result>& runs, bool twice) {
  Suite suite;
  fill_common(suite);
  suite.rules.workload = kSuiteName;
  for (const Result& run : runs) {
    SuiteTask& task = suite.tasks.emplace_back();
    task.workload = run.rules.workload;
    task.scenario = run.rules.scenario;
    task.run = SuiteRun{run.identity.uuid,
                        run.identity.uuid + ".json",
                        "",
                        run.status.state,
                        run.status.mistrusted,
                        "closed",
                        "1.0.0",
                        60};
    task.figure = figure_of(run);
    if (twice) task.figure->value *= task.figure->direction == Direction::kHigher ? 2 : 0.5;
    task.quality = SuiteQuality{"top-1", Direction::kHigher, 0.87, "", 0.85, true, 0.8677};
  }
  return suite;
}

/// Ratios and score of `suite` anew.
inline void score_again(Suite& suite) {
  const Suite reference = suite_of_runs(sample_suite_runs(), false);
  suite.reference = SuiteReference{
      "reference.json", "", "", "0123456789", "Made-up 9000", "quick", "2026-01-01T12:00:00.000Z"};
  compare_with(&reference, suite);
  suite.score = score_of(suite);
}

inline Suite sample_suite() {
  Suite suite = suite_of_runs(sample_suite_runs(), true);
  score_again(suite);
  return suite;
}

/// A report of `suite` and `runs`, all files sound.
inline ReportData report_of(const Suite& suite, const std::vector<Result>& runs) {
  ReportCollector collector;
  collector.add("suite.json", validated(suite), {});
  for (const Result& run : runs) collector.add(run.identity.uuid + ".json", validated(run), {});
  return collector.finish();
}

}  // namespace harness
