// What `custom` would bring to a step that composes the loss of many operators.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/text.hpp"
#include "harness/profile/remedy.hpp"

namespace harness::kernels {
namespace {

/// Elements of the largest tensor that an operator of that row reads: "f32[120087,264] f32[264]".
double largest_input(const std::string& shapes) {
  double largest = 0;
  for (std::size_t open = shapes.find('['); open != std::string::npos;
       open = shapes.find('[', open + 1)) {
    const std::size_t close = shapes.find(']', open);
    if (close == std::string::npos) break;
    double elements = 1;
    for (const std::string& extent : split(shapes.substr(open + 1, close - open - 1), ',')) {
      elements *= parse_number(extent).value_or(0);
    }
    largest = std::max(largest, elements);
  }
  return largest;
}

std::optional<Advice> one_pass(const PricedStep& step) {
  double seconds = 0, elements = 0, calls = 0;
  for (const OperatorRow& row : step.tables.operators) {
    if (!row.module.starts_with("loss.classification")) continue;
    seconds += step.gap(row);
    calls += row.calls;
    elements = std::max(elements, largest_input(row.shapes));
  }
  if (seconds <= 0 || step.bandwidth <= 0) return std::nullopt;
  // The logits are read once, their gradient is written once.
  const double kept = 2 * 4 * elements / step.bandwidth;
  return Advice{
      .topic = "focal loss",
      .finding = fmt::format(
          "its composition takes {} in {} a step, each of which reads and writes tensors of up to "
          "{}",
          format_quantity(seconds, "s"), format_count(std::llround(calls), "operator"),
          format_quantity(4 * elements, "B")),
      .basis = fmt::format("their time{} less that of one pass at {}",
                           step.without_faults ? " without page faults" : "",
                           format_quantity(step.bandwidth, "B/s")),
      .expected_seconds = std::max(seconds - kept, 0.0)};
}

const RegisterRemedy registered({{"focal-loss", "custom"}, one_pass});

}  // namespace
}  // namespace harness::kernels
