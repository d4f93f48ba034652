#include "harness/gate/tasks.hpp"

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/differences.hpp"

namespace harness {
namespace {

std::string task_name(const Result& run) {
  return printable(run.rules.workload, 60) + "/" + printable(run.rules.scenario, 40);
}

/// Of one side, each of its tasks as a side of its own that has the task's name.
std::vector<Side> split_by_task(const Side& side) {
  if (side.runs.empty()) throw Error(printable(side.name), "holds no result of a run");
  std::vector<Side> parts;
  for (const Result& run : side.runs) {
    const std::string name = task_name(run);
    auto known = std::find_if(parts.begin(), parts.end(),
                              [&](const Side& part) { return part.name == name; });
    if (known == parts.end()) known = parts.insert(parts.end(), Side{name, {}});
    known->runs.push_back(run);
  }
  return parts;
}

using Differences = std::vector<GateDifference> GateReport::*;

/// Those of `each` task's report; what all have in common once, by no name.
void add_differences(const std::vector<GateTask>& tasks, const std::vector<GateReport>& each,
                     Differences list, GateReport& report) {
  const auto everywhere = [&](const GateDifference& one) {
    return std::all_of(each.begin(), each.end(), [&](const GateReport& other) {
      return std::find((other.*list).begin(), (other.*list).end(), one) != (other.*list).end();
    });
  };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (const GateDifference& one : each[i].*list) {
      const bool common = everywhere(one);
      if (common && i > 0) continue;
      GateDifference& added = (report.*list).emplace_back(one);
      if (!common) added.name = called(tasks[i], one.name);
    }
  }
}

}  // namespace

std::vector<GateTask> tasks_of(const Side& baseline, const Side& candidate) {
  std::vector<Side> before = split_by_task(baseline);
  std::vector<Side> now = split_by_task(candidate);
  if (before.size() == 1 && now.size() == 1) return {{"", baseline, candidate}};
  const auto named = [](const Side& side, const std::string& task) {
    return side.name + ", " + task;
  };
  std::vector<GateTask> tasks;
  for (Side& part : before) {
    GateTask& task = tasks.emplace_back();
    task.name = part.name;
    task.baseline = {named(baseline, task.name), std::move(part.runs)};
    task.candidate.name = named(candidate, task.name);
  }
  for (Side& part : now) {
    auto known = std::find_if(tasks.begin(), tasks.end(),
                              [&](const GateTask& task) { return task.name == part.name; });
    if (known == tasks.end()) {
      known = tasks.insert(tasks.end(), {part.name, {named(baseline, part.name), {}}, {}});
      known->candidate.name = named(candidate, part.name);
    }
    known->candidate.runs = std::move(part.runs);
  }
  return tasks;
}

std::string called(const GateTask& task, const std::string& what) {
  return task.name.empty() ? what : task.name + " " + what;
}

void find_task_differences(const std::vector<GateTask>& tasks, bool interleaved,
                           GateReport& report) {
  std::vector<GateReport> each;
  for (const GateTask& task : tasks) {
    find_differences(task.baseline.runs.front(), task.candidate.runs.front(), interleaved,
                     each.emplace_back());
  }
  add_differences(tasks, each, &GateReport::differences, report);
  add_differences(tasks, each, &GateReport::forbidding, report);
}

}  // namespace harness
