// What a workload's cost is held against.
#pragma once

#include <optional>

#include "harness/result/result.hpp"

namespace harness {

/// Of what the cost counts as a step: the median step, batch of offline, or query of one sample.
/// Empty where nothing of the kind was timed.
std::optional<double> step_seconds(const Result& result);

}  // namespace harness
