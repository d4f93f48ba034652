#include "harness/scenario/loadgen/test_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness::loadgen {
namespace {

struct Round {
  double number;
  RoundSeeds seeds;
};

// As the rounds' rules name them.
constexpr std::array kRounds = {
    Round{5.1, {1780908523862526354U, 14771362308971278857U, 18209322760996052031U}},
    Round{6.0, {2465351861681999779U, 14276810075590677512U, 3936089224930324775U}},
    Round{6.1, {2085463073848966840U, 2747215439041700203U, 16159082839903944936U}},
};

// A query, its promise, and the metadata of a sample, measured: 600 s at 1 ms take 551 MB, of which
// there are twice as many as are expected.
constexpr double kBytesOfQuery = 460;
constexpr double kBytesOfSample = 48;
// Twice what is expected is made ready, but for a server, whose arrivals are drawn.
constexpr double kMadeReady = 2;

// Of a latency, as LoadGen logs it. A server's is judged by one of them.
constexpr std::array kLogged = {50.0, 90.0, 95.0, 97.0, 99.0, 99.9};

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw Error("LoadGen: " + what, why, "mend the tier of the rules, or --steps and --min-seconds");
}

/// All queries are made before the first is asked.
void refuse_if_too_many(const TestPlan& plan, std::optional<double> available) {
  const double needed = bytes_of_queries(plan);
  if (!available || needed <= *available) return;
  throw Error(
      plan.scenario == "server" ? fmt::format("--server-rate {:g}", plan.rate) : "LoadGen",
      fmt::format("{:.3g} queries are made before the test begins and need about {} of memory, {} "
                  "are available",
                  queries_of(plan), format_quantity(needed, "B"), format_quantity(*available, "B")),
      plan.scenario == "server" ? "a lower rate or fewer --min-seconds" : "fewer --min-seconds");
}

}  // namespace

RoundSeeds seeds_of_round(double round) {
  for (const Round& known : kRounds) {
    if (std::abs(known.number - round) < 1e-9) return known.seeds;
  }
  throw Error(fmt::format("round {} of MLPerf Inference", round), "its seeds are not known here",
              "5.1, 6.0 or 6.1");
}

TestPlan plan_of_tier(std::string_view scenario, const Tier& tier, std::int64_t samples) {
  TestPlan plan;
  plan.scenario = scenario;
  plan.samples = samples;
  plan.samples_in_memory =
      std::min(samples, static_cast<std::int64_t>(tier.more.at("samples_in_memory")));
  plan.samples_per_query = static_cast<std::int64_t>(tier.key("samples_per_query", 1));
  plan.min_queries = tier.min_steps;
  plan.min_seconds = tier.min_seconds;
  plan.percentile = tier.key("percentile", scenario == "multi-stream" ? 99 : 90);
  plan.latency_bound = tier.key("latency_bound_ms") * 1e-3;
  plan.seeds = seeds_of_round(tier.more.at("round"));
  return plan;
}

double queries_of(const TestPlan& plan) {
  const auto least = static_cast<double>(plan.min_queries);
  if (plan.scenario == "server") return std::max(least, plan.rate * plan.min_seconds);
  if (plan.scenario == "offline") {
    return std::max(least, 1.1 * plan.min_seconds / plan.expected_seconds);
  }
  return std::max(least, kMadeReady * plan.min_seconds / plan.expected_seconds);
}

double bytes_of_queries(const TestPlan& plan) {
  if (plan.scenario == "offline") return queries_of(plan) * kBytesOfSample;
  return queries_of(plan) *
         (kBytesOfQuery + kBytesOfSample * static_cast<double>(plan.samples_per_query));
}

void refuse_bad_plan(const TestPlan& plan, std::optional<double> available) {
  if (plan.samples < 1) refuse("samples", "the evaluation set is empty");
  if (plan.samples_in_memory < 1 || plan.samples_in_memory > plan.samples) {
    refuse("samples in memory", fmt::format("{} of {}", plan.samples_in_memory, plan.samples));
  }
  if (plan.min_queries < 1) refuse("queries", "at least 1 is needed");
  if (plan.samples_per_query < 1) refuse("samples per query", "at least 1 is needed");
  if (!(plan.percentile > 0 && plan.percentile < 100)) {
    refuse("percentile", fmt::format("{} is none", plan.percentile));
  }
  if (!(plan.min_seconds >= 0 && std::isfinite(plan.min_seconds))) {
    refuse("seconds", fmt::format("{} is no length", plan.min_seconds));
  }
  const bool server = plan.scenario == "server";
  if (server && !(plan.rate > 0 && std::isfinite(plan.rate))) {
    refuse("rate", fmt::format("{} queries a second cannot be issued", plan.rate));
  }
  if (server && !(plan.latency_bound > 0 && std::isfinite(plan.latency_bound))) {
    refuse("latency bound", fmt::format("{} s is none", plan.latency_bound));
  }
  if (!server && !(plan.expected_seconds > 0 && std::isfinite(plan.expected_seconds))) {
    refuse("expected latency", fmt::format("{} s is none", plan.expected_seconds));
  }
  if (server) refuse_bad_percentile(plan.percentile);
  refuse_bad_audit(plan, plan.audit);
  refuse_if_too_many(plan, available);
}

void refuse_bad_percentile(double percentile) {
  if (std::find(kLogged.begin(), kLogged.end(), percentile) != kLogged.end()) return;
  refuse("percentile",
         fmt::format("{:g} is none of those in its log: {}", percentile, fmt::join(kLogged, ", ")));
}

void refuse_bad_audit(const TestPlan& plan, const std::string& audit) {
  // The sample that is asked for again and again must be among those in memory.
  constexpr std::int64_t kLeast = 4;
  if (audit != "TEST04" || plan.samples_in_memory >= kLeast) return;
  throw Error(
      "--audit TEST04",
      fmt::format("needs {} samples in memory, there are {}", kLeast, plan.samples_in_memory),
      plan.samples < kLeast ? "give it more data, or leave it out"
                            : "leave it out, or mend samples_in_memory of the tier");
}

void refuse_bad_rate(const Tier& tier, double rate, std::optional<double> available) {
  TestPlan plan;
  plan.scenario = "server";
  plan.min_queries = tier.min_steps;
  plan.min_seconds = tier.min_seconds;
  plan.rate = rate;
  // Nobody can stop LoadGen while it waits for the time of the next query.
  const double seconds = static_cast<double>(plan.min_queries) / rate;
  if (rate > 0 && tier.max_seconds > 0 && seconds > tier.max_seconds) {
    throw Error(fmt::format("--server-rate {:g}", rate),
                fmt::format("its {} queries take {}, the tier allows {}", plan.min_queries,
                            format_quantity(seconds, "s"), format_quantity(tier.max_seconds, "s")),
                "give a higher rate");
  }
  refuse_if_too_many(plan, available);
}

bool can_run(const TestPlan& plan, std::optional<double> available) {
  try {
    refuse_bad_plan(plan, available);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace harness::loadgen
