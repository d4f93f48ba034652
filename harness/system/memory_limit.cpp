#include "harness/system/memory_limit.hpp"

#include "harness/system/cgroup.hpp"

namespace harness {

AvailableMemory available_memory(const SystemRoot& root) {
  AvailableMemory available;
  const Reading meminfo = root.raw("/proc/meminfo", std::size_t{1} << 16);
  if (meminfo.text) {
    if (const auto value = keyed_value(*meminfo.text, "MemAvailable")) {
      available.bytes = kernel_size(*value);
      available.source = "MemAvailable";
    }
  }
  const CgroupState cgroup = read_cgroup(root);
  if (cgroup.memory_left && (!available.bytes || *cgroup.memory_left < *available.bytes)) {
    available.bytes = cgroup.memory_left;
    available.source = "cgroup limit";
  }
  if (!available.bytes) {
    available.source.clear();
    available.reason = meminfo.text ? "/proc/meminfo: no readable MemAvailable" : meminfo.reason;
  }
  return available;
}

std::optional<double> memory_left() {
  const std::optional<long long> bytes = available_memory().bytes;
  return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

}  // namespace harness
