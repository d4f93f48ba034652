// Sides of results for the tests of the gate's report.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/gate/gate.hpp"
#include "tests/support/sample_result.hpp"

namespace harness {

inline constexpr const char* kCampaign = "11111111-2222-4333-8444-555555555555";

inline GateRules rules_for_steps() {
  GateRules rules;
  rules.options = {0.05, 0.05, 48};
  rules.metrics = {{"time.step", 0.015, GateGroup::kPerformance, false, false},
                   {"memory.peak", 0.02, GateGroup::kMemory, true, true}};
  return rules;
}

inline Result run_of(double seconds) {
  static int runs = 0;
  Result run = sample_result();
  run.identity.uuid = "uuid-" + std::to_string(++runs);
  run.identity.series_id = "series-" + std::to_string(runs);
  run.identity.started_at = start_of_hour(runs);
  run.metrics = {sample_metric("time.step", "s", std::vector<double>(8, seconds), 0)};
  run.rules.sha256 = std::string(64, 'a');
  return run;
}

using Edit = std::function<void(Result&)>;

/// `count` series of one run each.
inline Side series(const std::string& name, int count, double seconds, const Edit& edit = {}) {
  Side side{name, {}};
  for (int i = 0; i < count; ++i) {
    side.runs.push_back(run_of(seconds * (1 + 0.0001 * i)));
    if (edit) edit(side.runs.back());
  }
  return side;
}

/// One run of each pair from 1 on.
inline Side of_campaign(const std::string& side, int pairs, double seconds, const Edit& edit = {}) {
  Side runs = series(side, pairs, seconds);
  for (int i = 0; i < pairs; ++i) {
    Result& run = runs.runs[static_cast<std::size_t>(i)];
    run.identity.campaign = CampaignPlace{kCampaign, side, i + 1};
    if (edit) edit(run);
  }
  return runs;
}

inline GateReport judged(const Side& baseline, const Side& candidate) {
  return gate_results(baseline, candidate, rules_for_steps());
}

struct Refusal {
  std::string text{};
  ExitCode code = ExitCode::kOk;
};

inline Refusal refusal(const Side& baseline, const Side& candidate) {
  try {
    gate_results(baseline, candidate, rules_for_steps());
  } catch (const Error& error) {
    return {error.what(), error.code()};
  }
  return {"judged", ExitCode::kOk};
}

inline const GateRow& row(const GateReport& report, const std::string& tag) {
  for (const GateRow& one : report.rows) {
    if (one.tag == tag) return one;
  }
  throw std::runtime_error("no row " + tag);
}

}  // namespace harness
