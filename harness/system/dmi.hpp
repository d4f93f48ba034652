// The speed of the memory modules, from the firmware's tables (SMBIOS 3.x, structure type 17).
#pragma once

#include <optional>
#include <string>

#include "harness/system/system_root.hpp"

namespace harness {

struct MemorySpeed {
  std::optional<double> transfers_per_second{};  ///< of the slowest module, as configured
  std::string reason{};  ///< why it is missing; the tables are for root only
};

MemorySpeed read_memory_speed(const SystemRoot& root);

}  // namespace harness
