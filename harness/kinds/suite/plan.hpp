// What was asked of a suite becomes the runs that it will do, checked whole before anything runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/kinds/suite/suite_rules.hpp"
#include "harness/plan/plan.hpp"

namespace harness {

struct SuiteRequest {
  RunRequest common{};  ///< settings of all runs, the tier among them
  std::string rules{};  ///< a file in place of rules/suite.json
  std::string tasks{};  ///< with commas; empty: those of the rules
  std::string scenarios{};
};

/// One run to be done, or what keeps this program from doing it.
struct SuiteRunPlan {
  std::string workload{};
  std::string scenario{};
  std::string left_out{};  ///< why it cannot be run here; then the rest is empty
  RunPlan plan{};
  std::vector<std::string> arguments{};  ///< of `harness run`
};

struct SuitePlan {
  SuiteRules rules{};
  std::string tier{};
  std::vector<SuiteRunPlan> runs{};
  double pause_seconds = 0;
  Settings settings{};
};

/// A task of the rules that this program does not have, or that a scenario does not drive, is left
/// out. Throws Error, naming the option, for what was asked for and cannot be, and where nothing
/// is left to run.
SuitePlan make_suite_plan(const SuiteRequest& request, const std::filesystem::path& home);

/// The tasks of `request` in steps, one run each, whatever its scenarios are. Throws as
/// make_suite_plan() does.
std::vector<SuiteRunPlan> steps_of_tasks(const SuiteRequest& request,
                                         const std::filesystem::path& home);

}  // namespace harness
