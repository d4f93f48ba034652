// What `harness tune` found, for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "harness/base/tuning.hpp"

namespace harness {

/// How often each kernel won, and the problems where another than the usual one did, the largest
/// gain first.
std::string render_tuning(const TuningRecord& record, std::size_t columns);

}  // namespace harness
