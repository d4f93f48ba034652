#include "harness/kinds/suite/rules_check.hpp"

#include <fmt/format.h>

#include "harness/result/common_json.hpp"

namespace harness {

std::vector<Constraint> closed_constraints(const Rules& rules, const Suite& suite) {
  std::vector<Constraint> constraints = rules.closed;
  for (std::size_t i = 0; i < suite.tasks.size(); ++i) {
    // What was not measured is no departure, unless the program could never have done it.
    if (!suite.tasks[i].run && suite.tasks[i].available) continue;
    constraints.push_back({"run-closed", fmt::format("/tasks/{}/run/division", i), "equals",
                           "closed", "see the run's own departures"});
  }
  return constraints;
}

std::vector<Violation> broken_runs(const Suite& suite) {
  std::vector<Violation> violations;
  for (std::size_t i = 0; i < suite.tasks.size(); ++i) {
    const SuiteTask& task = suite.tasks[i];
    const std::string path = fmt::format("/tasks/{}/run", i);
    if (!task.run) {
      if (!task.available) continue;
      violations.push_back(
          {kRunThereRule, path, "a run of " + name_of(task), task.no_run,
           "suite --resume, with the folder of this file, measures what is missing"});
    } else if (task.run->state != RunState::kValid) {
      violations.push_back({kRunValidRule, path + "/state", "valid", to_text(task.run->state),
                            "see " + task.run->file});
    }
  }
  return violations;
}

}  // namespace harness
