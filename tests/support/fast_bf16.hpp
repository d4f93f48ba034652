// Whether whole data sets can be answered in bf16 in the time of a test.
#pragma once

#include "harness/system/peaks/bf16.hpp"
#include "harness/system/peaks/kernels.hpp"

namespace harness {

/// Without such instructions bf16 takes ten times as long as fp32, and by the reference
/// composition.
inline bool has_fast_bf16() { return fma_bf16_kernel().reason.empty(); }

}  // namespace harness
