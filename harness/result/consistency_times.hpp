// What the times of a run say of each other: phases and throughput against their step, steps
// against the time that the run lasted.
#pragma once

#include "harness/result/consistency_common.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Preparation and `seconds` of steps against the time that the run lasted.
void check_duration(const ResultCommon& common, double seconds, ProblemList& problems);
/// Phases and throughput against their step, steps against the run.
void check_times(const Result& result, ProblemList& problems);

}  // namespace harness
