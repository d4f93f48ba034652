// The setting `tuning`: which table the kernels of a run follow.
#pragma once

#include "harness/plan/plan.hpp"

namespace harness {

/// Puts the table that was asked for, or the one that comes with the program for the instruction
/// set of the kernels, into the context, and its hash into the effective settings; null where the
/// chosen kernels follow none or there is none. The kernels have been chosen. Throws Error.
void choose_tuning(RunPlan& plan);

}  // namespace harness
