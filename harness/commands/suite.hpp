// The tasks of a suite as runs by themselves.
#pragma once

#include <string>
#include <vector>

namespace harness {

struct TaskSteps {
  std::string workload{};
  std::string command{};  ///< a `harness run`
};

/// For each task of the suite that `command` ends in, the run that does its steps under the same
/// options; which tasks these are follows from the rules of this program. Those that cannot be
/// stepped are left out. Throws Error for options that only a shell could read (quotes, variables),
/// and for what the suite itself would refuse. Precondition: ends_in_harness_suite(command).
std::vector<TaskSteps> steps_of_suite(const std::string& command);

}  // namespace harness
