// What a metric's samples, tag and summary say of each other.
#pragma once

#include "harness/result/consistency_common.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Each metric by itself: tag, unit, direction, samples, summary.
void check_metrics(const Result& result, ProblemList& problems);

}  // namespace harness
