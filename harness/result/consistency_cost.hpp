// Whether peaks agree with their bursts, and what a step costs with its time and the peaks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/result/consistency_common.hpp"
#include "harness/result/result_common.hpp"

namespace harness {

/// Those of the whole file, at /peaks.
void check_peaks(const std::vector<Peak>& peaks, ProblemList& problems);
/// `path` is where the report stands; `step_seconds` the median step, where there is one.
void check_cost(const CostReport& report, const std::optional<double>& step_seconds,
                const std::vector<Peak>& peaks, const std::string& path, ProblemList& problems);

}  // namespace harness
