// What a workload achieved of what the machine can do.
#pragma once

#include <optional>
#include <vector>

#include "harness/result/result_common.hpp"

namespace harness {

/// Of the multiplications that direct convolutions would have needed, those that were done; empty
/// where nothing was chosen.
std::optional<double> work_done(const std::vector<KernelChoice>& choices);

/// `step_seconds`: the median step, empty or 0 where none was timed.
CostReport report_cost(const Cost& cost, const std::optional<double>& step_seconds,
                       const std::vector<Peak>& peaks);

}  // namespace harness
