// Whether what a run says of its ranks agrees with its settings.
#pragma once

#include "harness/result/consistency_common.hpp"
#include "harness/result/result.hpp"

namespace harness {

void check_world(const Result& result, ProblemList& problems);

}  // namespace harness
