// A series of runs as a few lines of text.
#pragma once

#include <string>
#include <vector>

#include "harness/result/result.hpp"

namespace harness {

/// For runs that train to a target: MLPerf's score, how many reached the target, epochs and final
/// quality of each; empty for other runs.
std::string render_training_series(const std::vector<Result>& runs);

}  // namespace harness
