// How long a run is, and to which target it trains.
#pragma once

#include "harness/plan/plan.hpp"

namespace harness {

/// What replaces the tier's length and target, and a dry run's length; with the effective settings
/// that follow. Throws Error, naming the option.
void choose_extent(RunPlan& plan);

}  // namespace harness
