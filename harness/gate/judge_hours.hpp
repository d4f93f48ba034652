// The columns of files by themselves, which nothing pairs, judged by the spread between hours.
#pragma once

#include <vector>

#include "harness/gate/report.hpp"
#include "harness/gate/tasks.hpp"
#include "harness/gate/values.hpp"

namespace harness {

/// A task with the numbers that it is judged by.
struct JudgedTask {
  const GateTask* task = nullptr;
  std::vector<GateColumn> columns{};
};

/// Adds a row for each column; the error is shared among all of them. Throws Error for more hours
/// on a side than can be judged.
void judge_hours(const std::vector<JudgedTask>& tasks, const GateOptions& options,
                 GateReport& report);

}  // namespace harness
