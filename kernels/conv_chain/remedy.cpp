// What `custom` would bring to a chain of convolutions that are run one by one.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/profile/remedy.hpp"

namespace harness::kernels {
namespace {

std::vector<ReplayTask> convolutions(const ProfileTables& tables) {
  return convolutions_for_own(tables, [](const Primitive&) { return true; });
}

std::optional<Advice> replayed(const PricedStep& step) {
  return gain_of_replays(step, "convolutions");
}

/// No part of a chain of convolutions.
bool of_the_head(const OperatorRow& row) {
  return row.name.find("softmax") != std::string::npos || row.name == "aten::addmm" ||
         row.name == "aten::mm" || row.name == "aten::linear";
}

/// All else of the forward pass: what a call costs, ReLUs, sums.
std::optional<Advice> around(const PricedStep& step) {
  double seconds = 0, calls = 0;
  for (const OperatorRow& row : step.tables.operators) {
    if (row.phase != "forward" || row.kernel || !row.name.starts_with("aten::")) continue;
    if (of_the_head(row)) continue;
    seconds += step.gap(row);
    calls += row.calls;
  }
  if (seconds <= 0) return std::nullopt;
  return Advice{
      .topic = "operators around convolutions",
      .finding = fmt::format("{} outside of primitives in {} a step", format_quantity(seconds, "s"),
                             format_count(std::llround(calls), "operator")),
      .basis = "that time: one call computes all layers, with ReLUs and sums",
      .expected_seconds = seconds};
}

const AdvisedChange kChange = {"conv-chain", "custom"};
const RegisterRemedy registered_convolutions({kChange, replayed, convolutions});
const RegisterRemedy registered_around({kChange, around});

}  // namespace
}  // namespace harness::kernels
