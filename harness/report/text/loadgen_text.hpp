// What LoadGen says of a run, in a few lines.
#pragma once

#include <string>

#include "harness/result/result.hpp"

namespace harness {

/// Empty for a run that it did not drive.
std::string loadgen_text(const Result& result);

}  // namespace harness
