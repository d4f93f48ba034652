// Whether tests of many steps or whole data sets can be run in bf16 in the time of a test.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "harness/system/peaks/bf16.hpp"
#include "harness/system/peaks/kernels.hpp"

namespace harness {

/// Whether a test in that precision would take too long here, which it then says: without
/// instructions bf16 takes ten times as long as fp32, and by the reference composition.
inline bool too_slow_here(const std::string& precision) {
  if (precision != "bf16" || fma_bf16_kernel().reason.empty()) return false;
  WARN("no instructions for bf16 here: not tried");
  return true;
}

}  // namespace harness
