#include "harness/scenario/loadgen/scenarios.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/result/result.hpp"
#include "harness/scenario/loadgen/driver.hpp"
#include "harness/scenario/loadgen/query_loop.hpp"
#include "harness/scenario/loadgen/test_plan.hpp"

namespace harness {
namespace {

constexpr double kMostSamples = 1e6;
constexpr double kRound = 6.1;  // the newest
constexpr double kPercentile = 99;

class LoadGenScenario : public Scenario {
 public:
  using Scenario::Scenario;

  void check(Workload& workload) const override {
    demand_of<Answers>(workload);
    const std::string missing = loadgen::why_unavailable();
    if (!missing.empty()) throw Error("scenario '" + info().name + "'", missing);
  }

  void check_chosen(const Tier& tier, const std::map<std::string, std::string>& chosen,
                    std::optional<double> memory) const override {
    if (info().name == "server")
      loadgen::refuse_bad_percentile(tier.key("percentile", kPercentile));
    const auto asked = chosen.find("server_rate");
    const auto rate = asked == chosen.end() ? std::nullopt : parse_number(asked->second);
    if (info().name == "server" && rate) loadgen::refuse_bad_rate(tier, *rate, memory);
  }

  RunRecord run(Workload& workload, WorkloadContext& context, const ScenarioOptions& options,
                const SessionHooks& hooks, const std::vector<Observer*>& observers) const override {
    return loadgen::run_queries(info(), workload, context, options, hooks, observers);
  }

  /// LoadGen drew from the seeds of the tier's round.
  std::vector<Violation> broken_rules(const Tier& tier, const Result& result) const override {
    if (!result.loadgen) return {};
    const loadgen::RoundSeeds seeds = loadgen::seeds_of_round(tier.key("round", kRound));
    std::vector<Violation> violations;
    const auto expect = [&](const char* name, std::uint64_t seed) {
      // No double holds all its digits.
      const std::string wanted = std::to_string(seed);
      const nlohmann::json there = result.loadgen->requested.value(name, nlohmann::json());
      if (there == wanted) return;
      violations.push_back({"loadgen-seed", std::string("/loadgen/requested/") + name, wanted,
                            printable(there.dump(), 40), "the round's"});
    };
    expect("qsl_rng_seed", seeds.samples);
    expect("sample_index_rng_seed", seeds.order);
    expect("schedule_rng_seed", seeds.schedule);
    return violations;
  }
};

/// What all have in common: min_steps and min_seconds are LoadGen's shortest test.
ScenarioInfo queries(std::string name, std::string summary) {
  return {
      .name = std::move(name),
      .summary = std::move(summary),
      .unit = "query",
      .units = "queries",
      .metric = "latency.query",
      .gives = {"latency.query"},
      .reads = {"warmup_steps", "min_steps", "min_seconds"},
      .keys = {{"round", "of MLPerf Inference, whose seeds are drawn from", kRound, 5.1, kRound},
               {"samples_in_memory", "that queries draw from", 1024, 1, kMostSamples, true},
               {"search_seconds",
                "of choosing threads, batch size and precision; 0: they are given", 0, 0, 600}},
      .most_units = kMostUnits,
      .by_loadgen = true};
}

ScenarioInfo single_stream() {
  return queries("single-stream", "LoadGen: one query of one sample after another");
}

ScenarioInfo multi_stream() {
  ScenarioInfo info =
      queries("multi-stream", "LoadGen: one query of several samples after another");
  info.keys.push_back({"samples_per_query", "samples of a query", 8, 1, 1000, true});
  return info;
}

ScenarioInfo server() {
  ScenarioInfo info =
      queries("server", "LoadGen: queries that come at random, at the highest rate that is held");
  info.keys.push_back({"percentile", "of the latency that is bound: 50, 90, 95, 97, 99 or 99.9",
                       kPercentile, 50, 99.9});
  info.keys.push_back({"latency_bound_ms", "that the percentile must not exceed", 100, 0.001, 1e6});
  info.keys.push_back({"probe_seconds", "of each rate that is tried", 10, 0.1, 600});
  return info;
}

ScenarioInfo offline() {
  ScenarioInfo info = queries("offline", "LoadGen: all samples at once, in batches");
  info.unit = "batch";
  info.units = "batches";
  info.metric = "time.batch";
  info.gives = {"time.batch"};
  info.keys.push_back(
      {"largest_batch", "that is tried where none is asked for", 64, 1, 4096, true});
  return info;
}

}  // namespace

std::vector<std::unique_ptr<Scenario>> loadgen_scenarios() {
  std::vector<std::unique_ptr<Scenario>> all;
  for (ScenarioInfo info : {single_stream(), multi_stream(), server(), offline()}) {
    all.push_back(std::make_unique<LoadGenScenario>(std::move(info)));
  }
  return all;
}

}  // namespace harness
