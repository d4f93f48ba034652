// What the page says of results that were stopped, mistrusted or advised.
#include "harness/report/page/html_findings.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "harness/check/judgement.hpp"
#include "harness/report/page/html_runs.hpp"
#include "tests/support/sample_suite.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

ReportData collected(const Result& run) {
  ReportCollector collector;
  collector.add("run.json", validated(run), {});
  return collector.finish();
}

/// "KIND: FOUND" of each row.
std::vector<std::string> rows_of(const ReportData& data) {
  std::vector<std::string> rows;
  const PageSection section = findings_section(data);
  for (const auto& row : section.tables.at(0).rows) {
    rows.push_back(row[0].text + ": " + row[1].text);
  }
  return rows;
}

}  // namespace

TEST_CASE("a run that was stopped broke no rule on the page", "[report]") {
  Result run = sample_result();
  run.status.recommendations.clear();
  mark_aborted(run.status, "interrupted", "run again for a valid result");
  const ReportData data = collected(run);
  CHECK(rows_of(data) == std::vector<std::string>{"not complete: interrupted"});
  const std::vector<PageCell> row = findings_section(data).tables.at(0).rows.at(0);
  CHECK(row[0].tone == Tone::kDoubt);
  CHECK(row[2].text.empty());
  const PageSection section = run_section(data.runs().at(0), "runs-1");
  CHECK_THAT(section.title, Catch::EndsWith("not complete"));
  CHECK(section.tone == Tone::kDoubt);
  std::vector<std::string> said;
  for (const PageFact& fact : section.facts) {
    if (fact.name == "broken rule" || fact.name == "not complete") said.push_back(fact.value);
  }
  CHECK(said == std::vector<std::string>{
                    "interrupted; what was measured until then is kept; run again for a valid "
                    "result"});
}

TEST_CASE("a run that broke a rule says which in its section", "[report]") {
  Result run = sample_result();
  run.status.state = RunState::kInvalid;
  run.status.violations = {{"steps", "/steps", ">= 20", "6", ""}};
  const ReportData data = collected(run);
  const PageSection section = run_section(data.runs().at(0), "runs-1");
  const auto fact = std::find_if(section.facts.begin(), section.facts.end(),
                                 [](const PageFact& one) { return one.name == "broken rule"; });
  REQUIRE(fact != section.facts.end());
  CHECK(fact->value == "steps at /steps: expected >= 20, got 6");
  CHECK(fact->tone == Tone::kBad);
}

TEST_CASE("what is missing of a suite breaks no rule on the page", "[report]") {
  Suite suite = sample_suite();
  suite.status.recommendations.clear();
  suite.status.state = RunState::kInvalid;
  suite.status.violations = {
      {kRunThereRule, "/tasks/0/run", "a run of classify/single-stream", "no memory", ""},
      {kRunValidRule, "/tasks/1/run/state", "valid", "aborted", ""},
      {kRunValidRule, "/tasks/2/run/state", "valid", "invalid", ""}};
  CHECK(rows_of(report_of(suite, {})) == std::vector<std::string>{"violation: invalid",
                                                                  "not complete: no memory",
                                                                  "not complete: aborted"});
}

TEST_CASE("the page says advice once that a reason of mistrust has said", "[report]") {
  Result run = sample_result();
  run.status.mistrusted = true;
  run.status.mistrust_reasons = {"load average 5.00 on 2 CPUs", "two programs ran: stop them"};
  run.status.recommendations = {"load average 5.00 on 2 CPUs: wait", "stop them", "pin threads"};
  CHECK(rows_of(collected(run)) ==
        std::vector<std::string>{"mistrust: load average 5.00 on 2 CPUs: wait",
                                 "mistrust: two programs ran: stop them", "advice: pin threads"});
}
