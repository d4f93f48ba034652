// Ratios and the score of a suite as pure functions.
#include "harness/kinds/suite/suite.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "harness/kinds/suite/lines.hpp"
#include "harness/kinds/suite/runs.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

SuiteTask task(const std::string& workload, const std::string& scenario, Figure figure) {
  SuiteTask task;
  task.workload = workload;
  task.scenario = scenario;
  task.run = SuiteRun{"", scenario + ".json", "", RunState::kValid, false, "closed", "1.0.0", 1};
  task.figure = std::move(figure);
  return task;
}

Figure latency(double seconds) { return {"latency.p90", "s", Direction::kLower, seconds}; }
Figure throughput(double rate) {
  return {"throughput.offline", "samples/s", Direction::kHigher, rate};
}

Suite suite_of(std::vector<SuiteTask> tasks) {
  Suite suite;
  suite.tasks = std::move(tasks);
  return suite;
}

/// `ours` held against `theirs`.
Suite compared(std::vector<SuiteTask> ours, std::vector<SuiteTask> theirs) {
  Suite suite = suite_of(std::move(ours));
  const Suite reference = suite_of(std::move(theirs));
  suite.reference = SuiteReference{};
  compare_with(&reference, suite);
  suite.score = score_of(suite);
  return suite;
}

}  // namespace

TEST_CASE("a ratio above 1 is faster, whichever way the figure goes", "[suite]") {
  CHECK(ratio_of(latency(0.002), 0.004) == Approx(2));
  CHECK(ratio_of(throughput(300), 100) == Approx(3));
  CHECK_FALSE(ratio_of(latency(0), 1));
  CHECK_FALSE(ratio_of(throughput(0), 1));
  CHECK_FALSE(ratio_of(throughput(1), 0));
  CHECK_FALSE(ratio_of(throughput(std::numeric_limits<double>::max()), 1e-300));
  CHECK_FALSE(ratio_of(latency(std::numeric_limits<double>::max()), 1e-300));
}

TEST_CASE("the score is a geometric mean: twice as fast and half as fast is 1", "[suite]") {
  const Suite suite = compared({task("a", "one", latency(1)), task("a", "all", throughput(50))},
                               {task("a", "all", throughput(100)), task("a", "one", latency(2))});
  REQUIRE(suite.score.value);
  CHECK(*suite.score.value == Approx(1));
  CHECK(suite.score.counted == std::vector<std::string>{"a/one", "a/all"});
  CHECK(suite.score.missing.empty());
}

TEST_CASE("a reference of another tier is no measure", "[suite]") {
  Suite suite = suite_of({task("a", "one", latency(1))});
  Suite reference = suite_of({task("a", "one", latency(2))});
  suite.rules.tier = "quick";
  reference.rules.tier = "standard";
  suite.reference = SuiteReference{};
  compare_with(&reference, suite);
  CHECK_FALSE(suite.tasks[0].ratio);
  CHECK(suite.tasks[0].no_ratio == "the reference is of tier 'standard'");
  CHECK_FALSE(score_of(suite).value);
}

TEST_CASE("a score of many does not overflow", "[suite]") {
  std::vector<SuiteTask> ours;
  std::vector<SuiteTask> theirs;
  for (int i = 0; i < 100; ++i) {
    ours.push_back(task("t" + std::to_string(i), "one", throughput(1e150)));
    theirs.push_back(task("t" + std::to_string(i), "one", throughput(1e-150)));
  }
  const Suite suite = compared(ours, theirs);
  REQUIRE(suite.score.value);
  CHECK(*suite.score.value == Approx(1e300));
}

TEST_CASE("what does not count is named with its reason", "[suite]") {
  const SuiteTask good = task("a", "one", latency(1));
  const auto why = [](const SuiteTask& ours, const SuiteTask& theirs) {
    const Suite suite = compared({ours}, {theirs});
    CHECK_FALSE(suite.score.value);
    CHECK(suite.score.counted.empty());
    REQUIRE(suite.score.missing.size() == 1);
    CHECK_FALSE(suite.score.reason.empty());
    return suite.score.missing.front().reason;
  };
  SuiteTask other = good;
  other.run->state = RunState::kInvalid;
  CHECK(why(other, good) == "its run is invalid");
  CHECK(why(good, other) == "the reference's own run does not count");
  other = good;
  other.quality = SuiteQuality{"top-1", Direction::kHigher, 0.1, "", 0.8, false};
  CHECK(why(other, good) == "its quality target was missed");
  CHECK(why(good, other) == "the reference's own run does not count");
  other = good;
  other.run.reset();
  other.no_run = "no memory";
  CHECK(why(other, good) == "no memory");
  other = good;
  other.scenario = "other";
  CHECK(why(good, other) == "the reference has no such run");
  other = good;
  other.figure = latency(1);
  other.figure->tag = "latency.p99";
  CHECK_THAT(why(good, other), Catch::Contains("latency.p99"));
  other = good;
  other.run->rules_version = "2.0.0";
  CHECK_THAT(why(good, other), Catch::Contains("version 2.0.0"));
  other = good;
  other.figure->value = 0;
  CHECK(why(good, other) == "no ratio can be formed of the figures");
}

TEST_CASE("without a reference nothing counts, and the score says why", "[suite]") {
  Suite suite = suite_of({task("a", "one", latency(1))});
  suite.no_reference = "the rules name no reference";
  compare_with(nullptr, suite);
  CHECK_FALSE(suite.tasks.front().ratio);
  CHECK(suite.tasks.front().no_ratio == "there is no reference");
  CHECK(score_of(suite).reason == "the rules name no reference");
}

TEST_CASE("quality is told as a share of fp32 where more is better", "[suite]") {
  SuiteQuality quality{"top-1", Direction::kHigher, 0.85, "", 0.8, true, 0.8677};
  CHECK(share_of_fp32(quality).value() == Approx(0.85 / 0.8677));
  quality.direction = Direction::kLower;
  CHECK_FALSE(share_of_fp32(quality));
  quality.direction = Direction::kHigher;
  quality.fp32.reset();
  CHECK_FALSE(share_of_fp32(quality));
  quality.fp32 = 0;
  CHECK_FALSE(share_of_fp32(quality));
  quality.fp32 = 0.8677;
  quality.value.reset();
  CHECK_FALSE(share_of_fp32(quality));
}

TEST_CASE("a score says how many of its runs are mistrusted", "[suite]") {
  std::vector<SuiteTask> tasks = {task("a", "one", latency(1)), task("a", "all", throughput(50)),
                                  task("b", "one", latency(1))};
  const std::vector<SuiteTask> reference = {task("a", "one", latency(2)),
                                            task("a", "all", throughput(100))};
  CHECK(score_text(compared(tasks, reference)) == "1.00 x the reference, over 2 of 3");
  tasks[0].run->mistrusted = true;
  tasks[2].run->mistrusted = true;  // does not count
  CHECK(mistrusted_in_score(compared(tasks, reference)) == 1);
  CHECK(score_text(compared(tasks, reference)) ==
        "1.00 x the reference, over 2 of 3; 1 of them is mistrusted");
  tasks[1].run->mistrusted = true;
  CHECK_THAT(score_text(compared(tasks, reference)), Catch::EndsWith("; 2 of them are mistrusted"));
}

TEST_CASE("what several runs say of their precision is said once, with their names", "[suite]") {
  const auto run = [](const char* scenario, const std::string& advice) {
    Result result;
    result.rules.workload = "a";
    result.rules.scenario = scenario;
    result.status.recommendations = {"load average 5.00 on 2 CPUs: wait", advice};
    return result;
  };
  const std::string slow = "int8 is slower than fp32 on this machine: ";
  const std::string remedy = " GFLOP/s in int8: measure in fp32 (--precision fp32)";
  const std::string chosen = "bf16 was chosen because it is faster: --precision fp32 is without it";
  const Result one = run("one", slow + "100" + remedy);
  const Result all = run("all", slow + "200" + remedy);
  const Result served = run("served", chosen);
  CHECK(advice_on_precision({&one, &all, &served}) ==
        std::vector<std::string>{slow + "100" + remedy + ": a/one, a/all", chosen + ": a/served"});
}
