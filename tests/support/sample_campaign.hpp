// A campaign of the gate, made up and judged.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/gate/judge_pairs.hpp"

namespace harness {

/// `clusters` of the `planned` ones, of a candidate that is `improvement` times as good, with noise
/// of half a percent; its memory is the same.
inline GateReport sample_campaign(double improvement, std::int64_t clusters = 40,
                                  std::size_t planned = 40) {
  GateColumn step{{"time.step", 0.015}, "s", Direction::kLower, {}, {}};
  GateColumn total{{"time.total", 0.015}, "s", Direction::kLower, {}, {}};
  GateColumn memory{
      {"memory.peak", 0.02, GateGroup::kMemory, true, true}, "B", Direction::kLower, {}, {}};
  for (std::int64_t i = 1; i <= clusters; ++i) {
    const double noise = 1 + 0.005 * std::sin(static_cast<double>(i * i));
    step.baseline[i] = 0.5;
    step.candidate[i] = 0.5 / improvement * noise;
    total.baseline[i] = 11;
    total.candidate[i] = 11 / improvement * noise * noise;
    memory.baseline[i] = memory.candidate[i] = 1e9;
  }
  GateReport report;
  report.subject = "null 1.2.0, tier quick";
  report.baseline = "old/harness run --workload null";
  report.candidate = "new/harness run --workload null";
  report.campaign = "11111111-2222-4333-8444-555555555555";
  judge_pairs({step, total, memory}, GatePlan{{Night{planned, std::nullopt}}}, {}, report, true);
  return report;
}

}  // namespace harness
