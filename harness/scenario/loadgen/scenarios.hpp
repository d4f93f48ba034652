// MLPerf Inference's ways to drive a workload that answers queries, each by LoadGen.
#pragma once

#include <memory>
#include <vector>

#include "harness/scenario/scenario.hpp"

namespace harness {

/// single-stream, multi-stream, server, offline. They are there in any build, so that results are
/// judged anywhere; without LoadGen check() says what is missing.
std::vector<std::unique_ptr<Scenario>> loadgen_scenarios();

}  // namespace harness
