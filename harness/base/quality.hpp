// What the checks of a quality say together.
#pragma once

#include <string>
#include <vector>

#include "harness/base/types.hpp"

namespace harness {

/// A quality whose value is the largest error as a share of its tolerance: 1 is the limit. Without
/// a value, and with the reason, when a check is not finite or one that has to be exact is not. A
/// check that has to be exact and is counts 0.
Quality share_of_tolerance(const std::string& metric, std::vector<Check> checks);

}  // namespace harness
