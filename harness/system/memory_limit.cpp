#include "harness/system/memory_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

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

void keep_to_memory_left() {
  const std::optional<double> left = memory_left();
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  constexpr int kDataField = 6;  // private and writable: what RLIMIT_DATA counts
  for (int i = 0; i < kDataField && statm; ++i) statm >> pages;
  rlimit limit{};
  if (!left || !statm || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const double bytes = *left + pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
  const auto wanted = static_cast<rlim_t>(bytes);
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  ::setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace harness
