// The tasks of two sides: what each workload did in each scenario, before and now.
#pragma once

#include <string>
#include <vector>

#include "harness/compare/side.hpp"
#include "harness/gate/report.hpp"

namespace harness {

struct GateTask {
  std::string name{};  ///< "classify/offline"; empty where each side has one task alone
  Side baseline{};     ///< without runs: the task is new
  Side candidate{};    ///< without runs: the task is missing
};

/// The runs of both sides by workload and scenario: the tasks of the baseline in its order, then
/// those that the candidate alone has. One on each side are one task, whatever they measure. Throws
/// Error for a side without runs.
std::vector<GateTask> tasks_of(const Side& baseline, const Side& candidate);

/// "classify/offline time.step": how `what` of a task is called in a report; of the only one it is
/// `what` alone.
std::string called(const GateTask& task, const std::string& what);

/// Adds how the sides of each task differ, as find_differences(): what holds for all of them once,
/// all else by the task's name. Precondition: each has runs on both sides.
void find_task_differences(const std::vector<GateTask>& tasks, bool interleaved,
                           GateReport& report);

}  // namespace harness
