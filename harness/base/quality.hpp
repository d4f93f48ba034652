// What the checks of a quality say together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/types.hpp"

namespace harness {

/// A quality whose value is the largest error as a share of its tolerance: 1 is the limit. Without
/// a value, and with the reason, when a check is not finite or one that has to be exact is not. A
/// check that has to be exact and is counts 0.
Quality share_of_tolerance(const std::string& metric, std::vector<Check> checks);

/// Whether `quality` is good enough: false when a check failed, or `target` is given and the value
/// misses it or is missing; empty when there is neither a target nor a check; otherwise true.
std::optional<bool> quality_passed(const Quality& quality, std::optional<double> target);

}  // namespace harness
