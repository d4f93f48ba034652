// What `custom` would bring to a step of single convolutions, norms and ReLUs.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "harness/base/problem.hpp"
#include "harness/base/text.hpp"
#include "harness/profile/remedy.hpp"

namespace harness::kernels {
namespace {

std::set<std::string> modules_of_convolutions(const ProfileTables& tables) {
  std::set<std::string> modules;
  for (const PrimitiveRow& row : tables.primitives) {
    if (row.owner && row.primitive.kind == "convolution") {
      modules.insert(tables.operators[*row.owner].module);
    }
  }
  modules.erase("");
  return modules;
}

/// Element-wise work in the modules of convolutions: what a convolution can do in its own pass,
/// forward; backward the mask of the ReLU and sums of gradients stay passes of their own.
std::optional<Advice> chains(const PricedStep& step) {
  const std::set<std::string> modules = modules_of_convolutions(step.tables);
  double seconds = 0, calls = 0, all = 0;
  for (const OperatorRow& row : step.tables.operators) {
    if (row.primitive_seconds > 0 || !modules.contains(row.module)) continue;
    all += step.gap(row);
    if (row.phase != "forward" &&
        (row.name == "aten::threshold_backward" || row.name.starts_with("aten::add"))) {
      continue;
    }
    seconds += step.gap(row);
    calls += row.calls;
  }
  return Advice{.topic = "frozen norm and ReLU chains",
                .finding = fmt::format("{} a step in element-wise operators around convolutions",
                                       format_quantity(all, "s")),
                .basis = fmt::format("the time of the {:.0f} that fit into a convolution's own "
                                     "pass: all forward ones; backward all but masks and sums",
                                     calls),
                .expected_seconds = seconds};
}

std::vector<ReplayTask> grouped_tasks(const ProfileTables& tables) {
  return convolutions_for_own(tables, [](const Primitive& primitive) {
    const auto extents = ConvolutionExtents::parse(primitive.problem);
    return extents && extents->of("g") > 1;
  });
}

/// Those that Winograd's kernels can compute.
std::vector<ReplayTask> minimal_tasks(const ProfileTables& tables) {
  return convolutions_for_own(tables, [](const Primitive& primitive) {
    const auto extents = ConvolutionExtents::parse(primitive.problem);
    const std::string type = primitive.tensors.empty() ? "" : primitive.tensors.front().type;
    return (type == "f32" || type == "bf16") && extents && extents->allows_minimal_filtering();
  });
}

std::optional<Advice> grouped(const PricedStep& step) {
  return gain_of_replays(step, "grouped convolutions");
}

std::optional<Advice> minimal(const PricedStep& step) {
  return gain_of_replays(step, "3x3 convolutions, by minimal filtering");
}

// The packed weights are kept for each state of the parameter; LibTorch packs them at each call,
// and a head is called once for each level of the pyramid. Gradients are unpacked at each call by
// both.
std::optional<Advice> packing(const PricedStep& step) {
  std::map<std::string, std::pair<double, double>> parameters;  // calls and seconds of each
  double calls = 0;
  double seconds = 0;
  for (const PrimitiveRow& row : step.tables.primitives) {
    if (row.primitive.kind != "reorder" || !row.owner || row.primitive.tensors.empty()) continue;
    const TensorLayout& target = row.primitive.tensors.back();
    const std::string& module = step.tables.operators[*row.owner].module;
    if (!is_blocked(target) || module.empty()) continue;
    auto& sum = parameters[module + " " + row.primitive.problem + " " + target.layout];
    sum.first += row.calls;
    sum.second += row.seconds;
    calls += row.calls;
    seconds += row.seconds;
  }
  double saved = 0;
  for (const auto& [parameter, sum] : parameters) {
    if (sum.first > 1) saved += sum.second * (1 - 1 / sum.first);
  }
  if (saved <= 0) return std::nullopt;
  return Advice{.topic = "reorders",
                .finding = fmt::format("weights are packed {} a step, which takes {}",
                                       format_count(std::llround(calls), "time"),
                                       format_quantity(seconds, "s")),
                .basis = fmt::format("each of {} packed once a step", parameters.size()),
                .expected_seconds = saved,
                .primitive_seconds = saved};
}

const AdvisedChange kChange = {"conv-block", "custom"};
const RegisterRemedy registered_chains({kChange, chains});
const RegisterRemedy registered_grouped({kChange, grouped, grouped_tasks});
const RegisterRemedy registered_minimal({kChange, minimal, minimal_tasks});
const RegisterRemedy registered_packing({kChange, packing});

}  // namespace
}  // namespace harness::kernels
