// Runs a test once for each instruction set that Highway has compiled and the CPU has.
#pragma once

#include "kernels/instruction_sets.hpp"

#include <hwy/highway.h>

#include <cstdint>
#include <functional>
#include <string>

namespace harness::tests {

/// Calls `test` with each set forced in turn, by its name; the best one is in force again after.
inline void for_each_simd_target(const std::function<void(const std::string& name)>& test) {
#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
  test(hwy::TargetName(HWY_TARGETS));
#else
  const auto force = [](std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    force(target);
    test(hwy::TargetName(target));
  }
  force(0);
#endif
}

}  // namespace harness::tests
