// What changed about a machine during a run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/system/doctor.hpp"

namespace harness {

/// The finding that other processes took CPU time.
inline constexpr const char* kOtherProcesses = "other-processes";

/// What went wrong between two calls of capture_environment() around a run: other processes, stolen
/// CPU time, throttling, swapping. Nothing for what stayed quiet or cannot be told.
std::vector<Finding> compare_environments(const nlohmann::json& before,
                                          const nlohmann::json& after);

}  // namespace harness
