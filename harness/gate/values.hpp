// The numbers of two sides that the gate's decision is made of.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/compare/side.hpp"
#include "harness/gate/rules.hpp"

namespace harness {

/// One metric on both sides. The keys are pairs of a campaign, or 0, 1, ... for the hours
/// of a side (compare/occasions), each one cluster.
struct GateColumn {
  GatedMetric metric{};
  std::string unit{};
  Direction direction = Direction::kLower;
  std::map<std::int64_t, double> baseline{};
  std::map<std::int64_t, double> candidate{};
  /// How many times better the candidate was, by key; empty: the ratio of the two values.
  std::map<std::int64_t, double> improvements{};
};

/// The values of one side, by key.
std::vector<double> in_order(const std::map<std::int64_t, double>& side);

/// Whether all runs belong to one campaign, each given on the side it was measured for.
bool of_one_campaign(const Side& baseline, const Side& candidate);

/// The columns of `metrics`. Runs with the same key give their median. A metric that both sides
/// lack is left out if its rule allows it. Any other missing metric throws Error.
std::vector<GateColumn> gate_columns(const Side& baseline, const Side& candidate,
                                     const std::vector<GatedMetric>& metrics, bool paired);

}  // namespace harness
