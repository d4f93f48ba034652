// What `custom` would bring to a chain of convolutions that are run one by one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/profile/remedy.hpp"

namespace harness::kernels {
namespace {

std::vector<ReplayTask> convolutions(const ProfileTables& tables) {
  std::vector<ReplayTask> tasks;
  for (ReplayTask& task : model_step(tables, 1).tasks) {
    if (task.library == "harness" || task.primitive.kind != "convolution") continue;
    task.library = "harness";
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::optional<Advice> replayed(const PricedStep& step) {
  if (!step.recorded) return std::nullopt;
  Advice advice{.topic = "convolutions",
                .finding = fmt::format("{} a step", format_quantity(*step.recorded, "s")),
                .basis = "replays of the same shapes by kernels of this project"};
  if (step.replayed) {
    advice.primitive_seconds = std::max(*step.recorded - *step.replayed, 0.0);
    advice.expected_seconds = advice.primitive_seconds;
  }
  return advice;
}

/// All else of the forward pass: what a call costs, ReLUs, sums.
std::optional<Advice> around(const PricedStep& step) {
  double seconds = 0, calls = 0;
  for (const OperatorRow& row : step.tables.operators) {
    if (row.phase != "forward" || row.kernel || !row.name.starts_with("aten::")) continue;
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
