// What LoadGen found, in the section of its run.
#include <algorithm>
#include <catch2/catch.hpp>

#include "harness/report/page/html_runs.hpp"
#include "tests/support/sample_suite.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

PageSection section_of(const Result& run) {
  ReportCollector collector;
  collector.add("run.json", validated(run), {});
  const ReportData data = collector.finish();
  return run_section(data.runs().at(0), "runs-1");
}

PageFact fact_of(const PageSection& section, const std::string& name) {
  const auto found = std::find_if(section.facts.begin(), section.facts.end(),
                                  [&](const PageFact& fact) { return fact.name == name; });
  return found == section.facts.end() ? PageFact{} : *found;
}

Result queries() { return sample_query_run("run-1", "classify", "single-stream"); }

}  // namespace

TEST_CASE("a run's section begins with what LoadGen found", "[report]") {
  const PageSection section = section_of(queries());
  CHECK(section.facts.at(0).name == "latency.p90");
  CHECK(section.facts.at(0).value == "4.00 ms");
  CHECK(section.facts.at(0).tone == Tone::kGood);
  CHECK(fact_of(section, "LoadGen").value == "VALID");
  CHECK(fact_of(section, "queries").value == "1024 queries in 60.000 s");
  CHECK(fact_of(section, "latency of a query").value ==
        "p50 3.00 ms, p90 4.00 ms, p99.9 300.00 ms");
  CHECK(fact_of(section, "set-up").value ==
        "2 threads, batches of 8, bf16: 1.50x the usual (1 thread, batches of 1, fp32), best of 2 "
        "tried");
  CHECK(fact_of(section, "compliance test").value.empty());
}

TEST_CASE("a set-up that was not chosen by measuring is told as well", "[report]") {
  Result run = queries();
  run.loadgen->set_up.reset();
  CHECK(fact_of(section_of(run), "set-up").value == "2 threads, batches of 8, bf16");
}

TEST_CASE("a figure of LoadGen's is no better than its run", "[report]") {
  Result run = queries();
  run.status.mistrusted = true;
  CHECK(section_of(run).facts.at(0).tone == Tone::kDoubt);
}

TEST_CASE("what LoadGen calls invalid says why, once", "[report]") {
  Result run = queries();
  run.loadgen->valid = false;
  run.loadgen->reasons = {"too few queries", "too short"};
  run.status.state = RunState::kInvalid;
  run.status.violations = {
      {"loadgen-validity", "/loadgen/validity", "valid", "too few queries; too short", ""}};
  const PageSection section = section_of(run);
  CHECK(fact_of(section, "LoadGen").value == "INVALID: too few queries; too short");
  CHECK(fact_of(section, "LoadGen").tone == Tone::kBad);
  CHECK(section.facts.at(0).tone == Tone::kBad);
  CHECK(fact_of(section, "broken rule").value.empty());
}

TEST_CASE("a compliance test is told with its outcome", "[report]") {
  Result run = queries();
  run.loadgen->audit = "TEST01";
  CHECK(fact_of(section_of(run), "compliance test").value == "TEST01 passed");
  CHECK(fact_of(section_of(run), "compliance test").tone == Tone::kGood);
  run.loadgen->valid = false;
  run.loadgen->reasons = {"TEST01: 3 of 9 answers are others"};
  const PageSection section = section_of(run);
  CHECK(fact_of(section, "compliance test").value == "TEST01 FAILED: 3 of 9 answers are others");
  CHECK(fact_of(section, "compliance test").tone == Tone::kBad);
  CHECK(fact_of(section, "LoadGen").value == "INVALID");
}
