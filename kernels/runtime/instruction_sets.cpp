#include "kernels/runtime/instruction_sets.hpp"

#include <ATen/Version.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>

namespace harness::kernels {
namespace {

// Before anything is dispatched. Highway's better targets have the lower bits; those of other
// architectures lie above all of x86's.
[[maybe_unused]] const bool limited = [] {
  const std::string capability = at::get_cpu_capability();
  if (capability == "AVX2") hwy::DisableTargets(HWY_AVX2 - 1);
  if (capability == "DEFAULT" || capability == "NO AVX") hwy::DisableTargets(HWY_SSE4 - 1);
  return capability != "AVX512";
}();

}  // namespace

std::string vector_target() {
  const std::int64_t targets = hwy::SupportedTargets();
  return hwy::TargetName(targets & -targets);
}

}  // namespace harness::kernels
