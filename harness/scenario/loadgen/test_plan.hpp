// One test of MLPerf's LoadGen as plain values: what is asked of it, and all that would make it
// crash, hang or lie refused before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/workload/rules.hpp"

namespace harness::loadgen {

enum class Mode { kPerformance, kAccuracy };

/// The random numbers that all submissions of one round of MLPerf Inference draw from.
struct RoundSeeds {
  std::uint64_t samples = 0;   ///< which samples are in memory
  std::uint64_t order = 0;     ///< which of them a query has
  std::uint64_t schedule = 0;  ///< when queries arrive
};

/// Of round 5.1, 6.0 or 6.1. Throws Error for another.
RoundSeeds seeds_of_round(double round);

struct TestPlan {
  std::string_view scenario{};  ///< single-stream, multi-stream, server, offline
  Mode mode = Mode::kPerformance;
  std::int64_t samples = 0;            ///< in the evaluation set
  std::int64_t samples_in_memory = 0;  ///< at a time
  std::int64_t samples_per_query = 1;  ///< of multi-stream
  std::int64_t min_queries = 1;        ///< of offline: samples
  double min_seconds = 0;
  double percentile = 90;         ///< of the latency that counts
  double latency_bound = 0;       ///< of server, seconds
  double expected_seconds = 0;    ///< of a query; of offline, of a sample
  double rate = 0;                ///< of server, queries per second
  std::int64_t most_waiting = 0;  ///< of server: more unanswered queries end the test; 0: no limit
  RoundSeeds seeds{};
  std::string audit{};  ///< TEST01 or TEST04
};

/// What `tier` says of the timed test, without how fast the system is. Its `more` has all keys of
/// the scenario; `samples` are in the evaluation set.
TestPlan plan_of_tier(std::string_view scenario, const Tier& tier, std::int64_t samples);

/// Throws Error for a plan that LoadGen would crash on, never end with, or run as something else;
/// for more queries than fit into `available` bytes too, since it makes all of them before it
/// begins.
void refuse_bad_plan(const TestPlan& plan, std::optional<double> available);

/// Throws Error for a percentile of a server's latency that LoadGen's log has no line for.
void refuse_bad_percentile(double percentile);

/// Throws Error for a compliance test that `plan`, whose own `audit` is not asked, has too few
/// samples for.
void refuse_bad_audit(const TestPlan& plan, const std::string& audit);

/// Throws Error for a rate of a server's queries that makes the test of `tier` longer than it may
/// be, or take more than `available` bytes.
void refuse_bad_rate(const Tier& tier, double rate, std::optional<double> available);

/// Whether refuse_bad_plan() lets it pass.
bool can_run(const TestPlan& plan, std::optional<double> available);

/// That LoadGen makes ready before its test begins, all of which it asks in offline, as samples.
double queries_of(const TestPlan& plan);

/// Bytes that LoadGen takes for the queries of `plan`.
double bytes_of_queries(const TestPlan& plan);

}  // namespace harness::loadgen
