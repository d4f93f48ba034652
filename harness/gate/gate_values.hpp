// The numbers of two sides that the gate's decision is made of.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/gate/gate_rules.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// One side's runs of a workload. All come from valid files.
struct GateSide {
  std::string name{};  ///< as given: a file, a folder or a command
  std::vector<Result> runs{};
};

/// One metric on both sides. The keys are pairs of a campaign, or 0, 1, ... for one series each.
struct GateColumn {
  GatedMetric metric{};
  std::string unit{};
  Direction direction = Direction::kLower;
  std::map<std::int64_t, double> baseline{};
  std::map<std::int64_t, double> candidate{};
};

/// Whether all runs belong to one campaign, each given on the side it was measured for.
bool of_one_campaign(const GateSide& baseline, const GateSide& candidate);

/// The columns of `metrics`. Runs with the same key give their median. A metric that both sides
/// lack is left out if its rule allows it. Any other missing metric throws Error.
std::vector<GateColumn> gate_columns(const GateSide& baseline, const GateSide& candidate,
                                     const std::vector<GatedMetric>& metrics, bool paired);

}  // namespace harness
