// What LoadGen's log says about a test that is worth repeating.
#include "harness/scenario/loadgen/what_failed.hpp"

#include <catch2/catch.hpp>

using namespace harness;           // NOLINT(google-build-using-namespace)
using namespace harness::loadgen;  // NOLINT(google-build-using-namespace)

TEST_CASE("why a test failed is read off the log, and what it does not say is no reason",
          "[loadgen]") {
  TestLog log;
  TestPlan plan;
  plan.latency_bound = 15e-3;
  CHECK_FALSE(was_too_fast(log, plan));
  CHECK_FALSE(ended_early(log));
  log.numbers["result_perf_constraints_met"] = 1;
  log.numbers["early_stopping_met"] = 1;
  log.numbers["result_min_duration_met"] = 1;
  CHECK_FALSE(was_too_fast(log, plan));
  CHECK_FALSE(ended_early(log));
  log.numbers["early_stopping_met"] = 0;
  log.numbers["result_max_latency_ns"] = 16e6;
  CHECK(was_too_fast(log, plan));
  // All in time, but too few for early stopping to be sure.
  log.numbers["result_max_latency_ns"] = 14e6;
  CHECK_FALSE(was_too_fast(log, plan));
  log.numbers["result_perf_constraints_met"] = 0;
  CHECK(was_too_fast(log, plan));
  log.numbers["result_min_duration_met"] = 0;
  CHECK(ended_early(log));
  log.numbers["result_99.00_percentile_latency_ns"] = 2e6;
  plan.percentile = 99;
  CHECK(latency_of(log, plan) == Approx(2e-3));
  plan.percentile = 90;
  CHECK(latency_of(log, plan) == 0);
}

TEST_CASE("a clock that was set is told from one that is slewed", "[loadgen]") {
  CHECK(moved_clock({.steady = 100, .loadgen = 100.05}).empty());
  CHECK_FALSE(moved_clock({.steady = 100, .loadgen = 101}).empty());
  CHECK_FALSE(moved_clock({.steady = 0.5, .loadgen = -3600}).empty());
}
