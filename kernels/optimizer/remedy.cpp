// What `custom` would bring to a step whose optimiser makes a pass for each of its operations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/text.hpp"
#include "harness/profile/remedy.hpp"

namespace harness::kernels {
namespace {

std::optional<Advice> one_pass(const PricedStep& step) {
  if (step.bandwidth <= 0) return std::nullopt;
  double seconds = 0, calls = 0, bytes = 0;
  for (const OperatorRow& row : step.tables.operators) {
    if (row.phase != "optimizer") continue;
    seconds += step.gap(row);
    calls += row.calls;
    // Adam's square root runs once over each parameter: in and out.
    if (row.name == "aten::sqrt") bytes += row.bytes;
  }
  if (bytes <= 0) return std::nullopt;
  // Parameter, gradient and two moments are read, all but the gradient are written.
  const double kept = 7 * bytes / 2 / step.bandwidth;
  return Advice{.topic = "optimizer",
                .finding = fmt::format("{} in {} a step", format_quantity(seconds, "s"),
                                       format_count(std::llround(calls), "operator")),
                .basis = "their time less that of one pass over parameters and moments",
                .expected_seconds = std::max(seconds - kept, 0.0)};
}

const RegisterRemedy registered({{"optimizer", "custom"}, one_pass});

}  // namespace
}  // namespace harness::kernels
