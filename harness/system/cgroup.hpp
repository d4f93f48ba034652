// Limits and counters of the control group this process is in, versions 1 and 2.
#pragma once

#include <optional>
#include <string>

#include "harness/system/system_root.hpp"

namespace harness {

/// The tightest of the group and its ancestors: each of them binds. An empty value has its reason.
struct CgroupState {
  std::optional<int> version{};               ///< 1 or 2: the one that governs the CPU
  std::optional<double> cpu_quota{};          ///< in CPUs, 1.5 is one and a half
  std::optional<long long> memory_limit{};    ///< bytes
  std::optional<long long> memory_left{};     ///< bytes until the limit, page cache reclaimed
  std::optional<long long> nr_throttled{};    ///< periods in which the quota ran out
  std::optional<double> throttled_seconds{};  ///< time spent waiting for the next period
  std::string version_reason{};
  std::string cpu_reason{};
  std::string memory_reason{};
  std::string throttle_reason{};
};

CgroupState read_cgroup(const SystemRoot& root);

}  // namespace harness
