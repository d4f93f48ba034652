// A run that LoadGen drives: warm-up, the search for a server's rate, the timed test, and the test
// of accuracy over the whole evaluation set.
#pragma once

#include <vector>

#include "harness/scenario/scenario.hpp"

namespace harness::loadgen {

RunRecord run_queries(const ScenarioInfo& info, Workload& workload, WorkloadContext& context,
                      const ScenarioOptions& options, const SessionHooks& hooks,
                      const std::vector<Observer*>& observers);

}  // namespace harness::loadgen
