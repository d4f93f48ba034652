// How much memory this process can still take.
#pragma once

#include <optional>
#include <string>

#include "harness/system/system_root.hpp"

namespace harness {

struct AvailableMemory {
  std::optional<long long> bytes{};
  std::string source{};  ///< "MemAvailable" or "cgroup limit"
  std::string reason{};  ///< why `bytes` is missing
};

/// The smaller of what the machine has to give (MemAvailable) and what the control groups leave.
AvailableMemory available_memory(const SystemRoot& root = SystemRoot());

/// The bytes alone, of this machine.
std::optional<double> memory_left();

/// From here on this process gets no more than is left now: what asks for more fails, where the
/// system would have ended this process, or another one. Does nothing where that is not known.
void keep_to_memory_left();

}  // namespace harness
