// Why a test of LoadGen's is invalid, where that tells how to do better.
#pragma once

#include <string>

#include "harness/scenario/loadgen/driver.hpp"
#include "harness/scenario/loadgen/log_reader.hpp"
#include "harness/scenario/loadgen/test_plan.hpp"

namespace harness::loadgen {

/// At the percentile that counts, seconds; 0 where the log has none.
double latency_of(const TestLog& log, const TestPlan& plan);

/// A server's queries came faster than it could answer them.
bool was_too_fast(const TestLog& log, const TestPlan& plan);
/// All queries were answered before the time was up.
bool ended_early(const TestLog& log);

/// LoadGen takes its times from a clock that somebody may set. Empty: nobody did.
std::string moved_clock(const TestClock& clock);

}  // namespace harness::loadgen
