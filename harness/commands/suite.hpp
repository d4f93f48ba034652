// The tasks of a suite as runs by themselves.
#pragma once

#include <string>
#include <vector>

#include "harness/lockstep/asked.hpp"

namespace harness {

struct TaskSteps {
  std::string workload{};
  AskedCommand command{};  ///< a `harness run`
};

/// For each task of `suite` the run that does its steps under the same options, by the same text;
/// which tasks these are follows from the rules of this program. Those that cannot be stepped are
/// left out. Throws Error for what the suite itself would refuse. Precondition: it is a suite.
std::vector<TaskSteps> steps_of_suite(const AskedCommand& suite);

}  // namespace harness
