// A complete, valid result of a made-up run, for tests of everything that reads results.
#pragma once

#include <string>

#include "harness/base/metric_kind.hpp"
#include "harness/base/quality.hpp"
#include "harness/result/result.hpp"
#include "harness/stats/stats.hpp"

namespace harness {

inline Metric sample_metric(const char* tag, const char* unit, const std::vector<double>& values,
                            std::int64_t warmup = 2) {
  const std::optional<MetricKind> kind = metric_kind(tag);
  const Direction direction =
      kind ? kind->direction.value_or(Direction::kHigher) : Direction::kLower;
  Metric metric{tag, unit, direction, "made up", {}, {}, {}};
  std::int64_t step = 0;
  for (const double value : values) {
    ++step;
    metric.samples.push_back({step, step <= warmup, value, ""});
  }
  summarise(metric);
  return metric;
}

/// Hour `number` of a year, as a start.
inline std::string start_of_hour(int number) {
  const auto two = [](int value) { return std::to_string(100 + value).substr(1); };
  return "2025-" + two(1 + number / 672 % 12) + "-" + two(1 + number / 24 % 28) + "T" +
         two(number % 24) + ":00:00.000Z";
}

/// The part that all kinds share.
inline void fill_common(ResultCommon& result) {
  result.identity = {"0b5f7c2e-7d1c-4a53-9d0e-0f6a3c1b2d4e",
                     "9a1d2f3c-1111-4222-8333-444455556666",
                     1,
                     3,
                     "2026-01-31T12:00:00.123Z",
                     "2026-01-31T12:01:00.456Z",
                     "0.1.0",
                     "0123456789abcdef0123456789abcdef01234567",
                     false,
                     {"harness", "run", "--workload", "null"}};
  result.rules = {"null",  "rules/null.json", "1.0.0", std::string(64, 'a'),
                  "quick", "closed",          {},      false};
  result.settings.requested = {{"workload", "null"}, {"set", {"pace=slow"}}};
  result.seeds = {4294967295U, 1, 2, 3};
  result.dataset = Artifact{"scenes", "generated", std::string(64, 'b'), {{"images", "320"}}};
  result.weights = {{"initialisation", "seeded", std::nullopt, {}}};
  result.hyperparameters = {{"learning_rate", "0.0001"}};
  result.system = {{"cpu", {{"model_name", "Made-up 9000"}, {"cores", 2}, {"microcode", nullptr}}},
                   {"missing", {{"cpu.microcode", "not readable"}}}};
  result.environment_before = {{"load_average", {0.1, 0.2, 0.3}}};
  result.environment_after = {{"load_average", {1.1, 0.2, 0.3}}};
  result.preparation = {{"data_seconds", 0.25}, {"init_seconds", 0.125}};
  result.status.state = RunState::kValid;
  result.status.recommendations = {"take more samples"};
}

inline Result sample_result() {
  Result result;
  fill_common(result);
  result.rules.scenario = "steps";
  result.settings.effective = {
      {"tier", "quick"},     {"batch_size", 1},           {"threads", 2},
      {"cpus", nullptr},     {"precision", "fp32"},       {"allocator", "system"},
      {"seed", 4294967295U}, {"warmup_steps", 2},         {"min_steps", 6},
      {"min_seconds", 0.0},  {"set", {{"pace", "slow"}}}, {"quality_target", 0.5}};
  result.kernels = {{"focal-loss", "reference"}};
  const std::vector<double> bursts = {1.0e12, 1.01e12, 0.99e12, 1.0e12, 1.02e12, 0.98e12};
  result.peaks = {
      {"fma.fp32", "FLOP/s", "AVX2", 2, bursts, median_interval(bursts), "", 1.02e12},
      {"copy.bandwidth", "B/s", "memcpy", 2, {}, std::nullopt, "no time for a burst", {}}};
  result.metrics = {sample_metric("time.step", "s", {0.9, 0.6, 0.5, 0.52, 0.51, 0.49, 0.5, 0.53}),
                    sample_metric("loss.total", "1", {3, 2.5, 2.2, 2.1, 2.05, 2, 1.9, 1.85})};
  result.memory = {std::nullopt, "allocator", "this allocator counts nothing"};
  CostReport cost;
  cost.cost = {1e11, 2.5e11, 1e9, {{"convolutions", 111}}, "fp32"};
  const double achieved = 2.5e11 / 0.505;  // the median of the step times above
  cost.achieved_flops_per_second = achieved;
  cost.utilisation = achieved / 1.02e12;
  result.cost = cost;
  QualityReport quality;
  quality.quality = {"accuracy", Direction::kHigher, 0.75, "", {{"loss", "1", "1", 0, 1e-5, true}}};
  quality.target = 0.5;
  quality.passed = quality_passed(quality.quality, quality.target);
  quality.reached_at_step = 8;
  result.quality = quality;
  return result;
}

}  // namespace harness
