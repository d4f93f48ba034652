// An ablation from plan to result: the parts of harness/ wired together.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/plan/ablation_plan.hpp"

namespace harness {

/// Measures all variants of `plan` in lockstep, each a process of its own, and returns the result
/// with its status; writes every turn to `samples` as it comes. What does not fit into `memory`
/// bytes (empty: what is available) is measured in groups. Throws Error when nothing could be
/// measured.
Ablation measure_ablation(const AblationPlan& plan, const std::filesystem::path& samples,
                          const std::vector<std::string>& command_line,
                          std::optional<double> memory = {});

}  // namespace harness
