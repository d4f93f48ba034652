// What the report on a training to a target says of itself and of the epochs' metrics.
#pragma once

#include "harness/result/consistency_common.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Epochs, target and clock of a training; nothing for a run without one.
void check_training(const Result& result, ProblemList& problems);

}  // namespace harness
