// The state a machine is in, read before and after a run.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "harness/system/system_root.hpp"

namespace harness {

/// Of a capture: processor time of this process and of those that it started and has seen end.
inline constexpr const char* kOwnCpuSeconds = "own_cpu_seconds";
/// So many CPUs, those that the process may use, are what its busy and stolen seconds are of.
inline constexpr const char* kCpusCounted = "cpus_counted";

/// Load, memory, clocks, temperatures and counters. Some milliseconds, a tenth of a second where
/// others seem to work.
nlohmann::json capture_environment(const SystemRoot& root = SystemRoot());

/// How many tasks are runnable, as `read` has it. Where it is more than ours, the median of several
/// readings some milliseconds apart: a thread of the kernel that wakes for an instant is no load,
/// and a process that computes is there in all of them. Null where a reading is.
std::optional<long long> usually_runnable(const std::function<std::optional<long long>()>& read);

}  // namespace harness
