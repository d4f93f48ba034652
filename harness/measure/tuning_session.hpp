// `harness tune`: the kernels of a step, each candidate timed by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/base/tuning.hpp"
#include "harness/plan/plan.hpp"

namespace harness {

/// Another kernel is taken in place of the usual one if that takes this much longer.
inline constexpr double kWorthAnotherKernel = 1.02;

/// The fastest in `seconds`, or `usual` where none is faster than it by kWorthAnotherKernel.
/// Precondition: `seconds` is not empty.
std::string choose_kernel(const std::map<std::string, double>& seconds, const std::string& usual);

/// Runs one step to see which problems it has, then `rounds` rounds over the candidates of each,
/// one after the other; their memory is in no cache. Throws Error where the workload follows no
/// table, and Interrupted before the first problem is whole; later it returns with what there is.
TuningRecord tune(RunPlan& plan, std::int64_t rounds);

}  // namespace harness
