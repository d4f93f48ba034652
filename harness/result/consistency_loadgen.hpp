// Whether what a run says of LoadGen agrees with itself.
#pragma once

#include "harness/result/consistency_common.hpp"
#include "harness/result/result.hpp"

namespace harness {

void check_loadgen(const Result& result, ProblemList& problems);

}  // namespace harness
