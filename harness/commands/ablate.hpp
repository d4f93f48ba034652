// What `ablate` and `scale` share: both measure variants in lockstep.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/options.hpp"
#include "harness/plan/ablation_plan.hpp"

namespace harness {

/// Rounds, clusters, memory, the place of the file and its format.
void add_ablation_options(Options& options);

/// As a person typed it.
std::vector<std::string> command_line_of(const char* command, const Arguments& arguments);

/// Throws Error, before anything is measured, for a place that is taken.
ExitCode measure_and_deliver(const Options& options, const AblationPlan& plan,
                             const std::vector<std::string>& command_line);

}  // namespace harness
