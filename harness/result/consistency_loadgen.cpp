#include "harness/result/consistency_loadgen.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr const char* kOfStream = "latency.query";
constexpr const char* kOfOffline = "time.batch";

class Checker {
 public:
  Checker(const Result& result, const LoadGenReport& report, ProblemList& problems)
      : result_(result), report_(report), problems_(problems) {}

  void check() {
    problems_.expect(report_.valid || !report_.reasons.empty(), "/loadgen/reasons",
                     "empty, although the run is invalid");
    requested();
    figure();
    met();
    histogram();
    set_up();
    for (std::size_t i = 0; i < report_.percentiles.size(); ++i) percentile(i);
    for (std::size_t i = 1; i < report_.percentiles.size(); ++i) {
      const LatencyPercentile& before = report_.percentiles[i - 1];
      const LatencyPercentile& here = report_.percentiles[i];
      problems_.expect(before.percentile < here.percentile && before.seconds <= here.seconds,
                       fmt::format("/loadgen/percentiles/{}", i), "below the one before");
    }
  }

 private:
  /// It is a number of LoadGen's log; of queries only multi-stream has one beside that of samples.
  void percentile(std::size_t i) {
    const LatencyPercentile& stored = report_.percentiles[i];
    for (const char* of : {"_per_query", ""}) {
      const auto logged = report_.log.find(
          fmt::format("result_{:.2f}_percentile{}_latency_ns", stored.percentile, of));
      if (logged == report_.log.end()) continue;
      problems_.expect_same(fmt::format("/loadgen/percentiles/{}/seconds", i), stored.seconds,
                            logged->second * 1e-9);
      return;
    }
    problems_.expect(false, fmt::format("/loadgen/percentiles/{}", i),
                     "is not in the log of LoadGen");
  }

  /// The timed test was as long as the settings say, and nothing in it was made easier.
  void requested() {
    if (result_.status.state != RunState::kValid) return;
    const nlohmann::json& effective = result_.settings.effective;
    const double seconds = effective.value("min_seconds", 0.0);
    const std::pair<const char*, nlohmann::json> wanted[] = {
        {"test_mode", "PerformanceOnly"},
        {"min_duration_ms", static_cast<std::int64_t>(seconds * 1e3)},
        {"min_query_count", effective.value("min_steps", nlohmann::json())},
        {"max_duration_ms", 0},
        {"max_query_count", 0},
        {"performance_issue_unique", false},
        {"performance_issue_same", false},
        {"sample_concatenate_permutation", false}};
    for (const auto& [name, value] : wanted) {
      problems_.expect(report_.requested.value(name, nlohmann::json()) == value,
                       fmt::format("/loadgen/requested/{}", name),
                       fmt::format("not {}, as the settings have it", value.dump()));
    }
  }

  /// What LoadGen found wanting makes no valid run.
  void met() {
    if (!report_.valid) return;
    for (const char* key : {"result_min_duration_met", "result_min_queries_met",
                            "result_perf_constraints_met", "early_stopping_met"}) {
      const auto logged = report_.log.find(key);
      problems_.expect(logged == report_.log.end() || logged->second != 0,
                       fmt::format("/loadgen/log/{}", key),
                       "0, although the run is said to be valid");
    }
  }

  /// What was taken is what the trials say.
  void set_up() {
    if (!report_.set_up) return;
    const SetUpTrial& best = best_set_up(report_.set_up->trials);
    const auto expect = [&](const char* name, const nlohmann::json& value) {
      problems_.expect(
          result_.settings.effective.value(name, nlohmann::json()) == value,
          fmt::format("/settings/effective/{}", name),
          fmt::format("not the {} that the trials in /loadgen/set_up give", value.dump()));
    };
    expect("threads", best.threads);
    expect("batch_size", best.batch_size);
    // The other side of a campaign may have tried more than this one was free to choose.
    const bool asked = result_.settings.requested.contains("precision");
    if (!best.precision.empty() && !asked) expect("precision", best.precision);
  }

  /// It is a number of LoadGen's log.
  void figure() {
    const FigureOfScenario* known = figure_of_scenario(result_.rules.scenario);
    if (known == nullptr) {
      problems_.expect(
          false, "/loadgen",
          "there, although the scenario is '" + printable(result_.rules.scenario, 64) + "'");
      return;
    }
    const LoadGenFigure& figure = report_.figure;
    problems_.expect(figure.tag == known->tag, "/loadgen/figure/tag",
                     fmt::format("'{}', but that of the scenario is '{}'", figure.tag, known->tag));
    problems_.expect(figure.unit == known->unit, "/loadgen/figure/unit",
                     fmt::format("'{}', but it is in '{}'", figure.unit, known->unit));
    const auto logged = report_.log.find(std::string(known->key));
    const double value = logged == report_.log.end() ? 0 : logged->second * known->scale;
    problems_.expect_same("/loadgen/figure/value", figure.value, value);
  }

  void histogram() {
    const bool offline = result_.rules.scenario == "offline";
    const Metric* metric = find_metric(result_.metrics, offline ? kOfOffline : kOfStream);
    if (metric == nullptr) return;
    LatencyHistogram again;
    std::int64_t timed = 0;
    for (const Sample& sample : metric->samples) {
      if (sample.warmup || !sample.value) continue;
      again.add(*sample.value);
      ++timed;
    }
    const std::int64_t counted = report_.histogram.total();
    problems_.expect(counted >= timed, "/loadgen/histogram/bins",
                     fmt::format("{} latencies, but there are {} samples", counted, timed));
    if (counted == timed) {
      problems_.expect(report_.histogram == again, "/loadgen/histogram/bins",
                       "not what the samples give");
    }
    if (!offline && result_.status.state == RunState::kValid) {
      problems_.expect(counted == report_.queries, "/loadgen/queries",
                       fmt::format("{}, but {} latencies are counted", report_.queries, counted));
    }
  }

  const Result& result_;
  const LoadGenReport& report_;
  ProblemList& problems_;
};

}  // namespace

void check_loadgen(const Result& result, ProblemList& problems) {
  if (result.loadgen) Checker(result, *result.loadgen, problems).check();
}

}  // namespace harness
