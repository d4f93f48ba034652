// The loop of a run that trains to a quality target: epochs, an evaluation after each, states saved
// on the way. Everything in it is on the clock, as MLPerf's rules have it.
#pragma once

#include "harness/scenario/runner.hpp"

namespace harness {

/// Trains until the target is reached, epochs or seconds run out, or a loss is not finite, and
/// fills `record` (whose preparation is over). Throws Interrupted when asked to stop, after saving
/// the state: between steps, or within an evaluation, with which a resumed run then begins. What
/// the workload throws passes through. Either way `record` holds what was measured.
void train_to_target(Workload& workload, const TrainingOptions& options, const RunnerHooks& hooks,
                     const std::vector<Observer*>& observers, StepTimer& timer, RunRecord& record);

}  // namespace harness
