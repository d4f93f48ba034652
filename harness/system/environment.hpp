// The state a machine is in, read before and after a run.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/system/system_root.hpp"

namespace harness {

/// Load, memory, clocks, temperatures and counters. Some milliseconds.
nlohmann::json capture_environment(const SystemRoot& root = SystemRoot());

}  // namespace harness
