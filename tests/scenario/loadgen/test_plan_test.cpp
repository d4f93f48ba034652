// What LoadGen would crash on, hang with, or run as something else is refused before.
#include "harness/scenario/loadgen/test_plan.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/base/error.hpp"
#include "harness/result/result.hpp"
#include "harness/scenario/scenario.hpp"

using namespace harness;           // NOLINT(google-build-using-namespace)
using namespace harness::loadgen;  // NOLINT(google-build-using-namespace)

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TestPlan sound(const char* scenario) {
  TestPlan plan;
  plan.scenario = scenario;
  plan.samples = 100;
  plan.samples_in_memory = 50;
  plan.min_queries = 64;
  plan.min_seconds = 1;
  plan.latency_bound = 0.1;
  plan.expected_seconds = 1e-3;
  plan.rate = 100;
  plan.percentile = 99;
  return plan;
}

void refuses(const char* scenario, const std::function<void(TestPlan&)>& spoil) {
  TestPlan plan = sound(scenario);
  spoil(plan);
  CHECK_THROWS_AS(refuse_bad_plan(plan, std::nullopt), Error);
}

}  // namespace

TEST_CASE("plans that LoadGen cannot run are refused", "[loadgen]") {
  for (const char* scenario : {"single-stream", "multi-stream", "server", "offline"}) {
    CHECK_NOTHROW(refuse_bad_plan(sound(scenario), 1e9));
    // Without a query and without a length it would crash.
    refuses(scenario, [](TestPlan& plan) { plan.min_queries = 0; });
    refuses(scenario, [](TestPlan& plan) { plan.samples = plan.samples_in_memory = 0; });
    refuses(scenario, [](TestPlan& plan) { plan.samples_in_memory = 0; });
    refuses(scenario, [](TestPlan& plan) { plan.samples_in_memory = 101; });
    refuses(scenario, [](TestPlan& plan) { plan.samples_per_query = 0; });
    refuses(scenario, [](TestPlan& plan) { plan.percentile = 100; });
    refuses(scenario, [](TestPlan& plan) { plan.percentile = 0; });
    refuses(scenario, [](TestPlan& plan) { plan.min_seconds = -1; });
    refuses(scenario, [](TestPlan& plan) { plan.min_seconds = kInfinity; });
    refuses(scenario, [](TestPlan& plan) {
      plan.audit = "TEST04";
      plan.samples_in_memory = 3;
    });
  }
  // With an expected latency of 0 it would never end.
  refuses("single-stream", [](TestPlan& plan) { plan.expected_seconds = 0; });
  refuses("offline", [](TestPlan& plan) { plan.expected_seconds = kInfinity; });
  refuses("server", [](TestPlan& plan) { plan.rate = 0; });
  refuses("server", [](TestPlan& plan) { plan.rate = kInfinity; });
  refuses("server", [](TestPlan& plan) { plan.latency_bound = 0; });
  // Its log would not say whether the bound was held.
  refuses("server", [](TestPlan& plan) { plan.percentile = 98; });
}

TEST_CASE("more queries than memory holds are refused, with the bytes they take", "[loadgen]") {
  TestPlan plan = sound("single-stream");
  plan.min_seconds = 600;
  // 600 s at 1 ms were measured to take 551 MB.
  CHECK(bytes_of_queries(plan) > 500e6);
  CHECK(bytes_of_queries(plan) < 700e6);
  CHECK_NOTHROW(refuse_bad_plan(plan, 1e9));
  CHECK_THROWS_AS(refuse_bad_plan(plan, 100e6), Error);
}

TEST_CASE("seeds are those of the round, and of no other", "[loadgen]") {
  CHECK(seeds_of_round(6.0).samples == 2465351861681999779U);
  CHECK(seeds_of_round(6.1).schedule == 16159082839903944936U);
  CHECK_THROWS_AS(seeds_of_round(6.05), Error);
}

TEST_CASE("a result that drew from other seeds than its round's breaks the rules", "[loadgen]") {
  Tier tier;
  tier.more["round"] = 6.0;
  Result result;
  result.loadgen.emplace();
  const RoundSeeds seeds = seeds_of_round(6.0);
  const nlohmann::json drawn = {{"qsl_rng_seed", std::to_string(seeds.samples)},
                                {"sample_index_rng_seed", std::to_string(seeds.order)},
                                {"schedule_rng_seed", std::to_string(seeds.schedule)}};
  const auto broken = [&](const Tier& in, const nlohmann::json& requested) {
    result.loadgen->requested = requested;
    return find_scenario("offline").broken_rules(in, result);
  };
  CHECK(broken(tier, drawn).empty());
  // Without a key it is the newest round.
  CHECK(broken(Tier(), drawn).size() == 3);
  for (const auto& [name, value] : drawn.items()) {
    nlohmann::json other = drawn;
    other[name] = "1";
    const auto violations = broken(tier, other);
    REQUIRE(violations.size() == 1);
    CHECK(violations[0].path == "/loadgen/requested/" + name);
    other.erase(name);
    CHECK(broken(tier, other).size() == 1);
  }
}
