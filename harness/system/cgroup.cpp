#include "harness/system/cgroup.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "harness/base/text.hpp"

namespace harness {
namespace {

/// Where a controller's files lie: the mount and this process' group below it.
struct Place {
  std::string mount{};
  std::string group{};  ///< starts with '/', no ".." in it
  bool v2 = false;
};

/// A group outside of the namespace is shown as "/../x"; only the mount itself can then be read.
std::string safe_group(const std::string& group) {
  for (const std::string& part : split(group, '/')) {
    if (part == "..") return "/";
  }
  return group.starts_with('/') ? group : "/";
}

std::optional<Place> find_controller(const SystemRoot& root, const std::string& controller) {
  const Reading membership = root.raw("/proc/self/cgroup", std::size_t{1} << 16);
  if (!membership.text) return std::nullopt;
  std::optional<Place> unified;
  for (const std::string& line : split(*membership.text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = safe_group(line.substr(second + 1));
    if (controllers.empty()) {
      const bool hybrid = root.exists("/sys/fs/cgroup/unified/cgroup.controllers");
      unified = Place{hybrid ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup", group, true};
      continue;
    }
    const std::vector<std::string> names = split(controllers, ',');
    if (std::find(names.begin(), names.end(), controller) == names.end()) continue;
    for (const std::string& name : {controllers, controller, std::string("cpu,cpuacct")}) {
      const std::string mount = "/sys/fs/cgroup/" + name;
      if (root.exists(mount)) return Place{mount, group, false};
    }
  }
  if (unified && !root.exists(unified->mount + "/cgroup.controllers")) return std::nullopt;
  return unified;
}

/// Calls `visit` with the folder of the group and of each ancestor that exists, at most 64.
void for_each_level(const SystemRoot& root, const Place& place,
                    const std::function<void(const std::string& folder)>& visit) {
  std::string group = place.group;
  for (int depth = 0; depth < 64; ++depth) {
    while (group.ends_with('/')) group.pop_back();
    if (root.exists(place.mount + group)) visit(place.mount + group);
    if (group.empty()) return;
    group.resize(group.rfind('/'));
  }
}

template <typename T>
void keep_smaller(std::optional<T>& value, T candidate) {
  if (!value || candidate < *value) value = candidate;
}

/// A counter in "name value" lines.
std::optional<long long> counter(const Reading& reading, std::string_view name) {
  if (!reading.text) return std::nullopt;
  for (const std::string& line : split(*reading.text, '\n')) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || line.substr(0, space) != name) continue;
    const auto value = parse_integer(trim(std::string_view(line).substr(space + 1)));
    return value && *value >= 0 ? value : std::nullopt;
  }
  return std::nullopt;
}

void read_cpu_level(const SystemRoot& root, const std::string& folder, bool v2,
                    CgroupState& state) {
  if (v2) {
    const Reading reading = root.line(folder + "/cpu.max");
    const auto parts = split(reading.text.value_or(""), ' ');
    if (parts.size() == 2) {
      const auto quota = parse_integer(parts[0]);
      const auto period = parse_integer(parts[1]);
      if (quota && period && *quota > 0 && *period > 0) {
        keep_smaller(state.cpu_quota, static_cast<double>(*quota) / static_cast<double>(*period));
      }
    }
  } else {
    const auto quota = root.integer(folder + "/cpu.cfs_quota_us");
    const auto period = root.integer(folder + "/cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *period > 0) {
      keep_smaller(state.cpu_quota, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  }
  const Reading stat = root.raw(folder + "/cpu.stat", std::size_t{1} << 16);
  // Each level counts the times its own quota ran out; any of them stalls us.
  if (const auto count = counter(stat, "nr_throttled")) {
    state.nr_throttled = std::max(state.nr_throttled.value_or(0), *count);
  }
  const auto time = counter(stat, v2 ? "throttled_usec" : "throttled_time");
  if (time) {
    const double seconds = static_cast<double>(*time) * (v2 ? 1e-6 : 1e-9);
    state.throttled_seconds = std::max(state.throttled_seconds.value_or(0), seconds);
  }
}

void read_memory_level(const SystemRoot& root, const std::string& folder, bool v2,
                       CgroupState& state) {
  // Version 1 writes "no limit" as the largest number of pages.
  constexpr long long kUnlimited = 1LL << 60;
  const auto limit = root.integer(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  if (!limit || *limit < 0 || *limit >= kUnlimited) return;
  keep_smaller(state.memory_limit, *limit);
  const auto usage = root.integer(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!usage || *usage < 0) return;
  // Usage includes page cache, which gives way before anyone is killed.
  const Reading stat = root.raw(folder + "/memory.stat", std::size_t{1} << 16);
  const long long reclaimable =
      counter(stat, v2 ? "inactive_file" : "total_inactive_file").value_or(0);
  const long long used = std::max(0LL, *usage - std::min(reclaimable, *usage));
  keep_smaller(state.memory_left, std::max(0LL, *limit - used));
}

}  // namespace

CgroupState read_cgroup(const SystemRoot& root) {
  CgroupState state;
  const auto cpu = find_controller(root, "cpu");
  const auto memory = find_controller(root, "memory");
  const std::string absent = "no control groups are mounted under /sys/fs/cgroup";
  if (cpu) {
    state.version = cpu->v2 ? 2 : 1;
    for_each_level(root, *cpu, [&](const std::string& folder) {
      read_cpu_level(root, folder, cpu->v2, state);
    });
  }
  if (memory) {
    for_each_level(root, *memory, [&](const std::string& folder) {
      read_memory_level(root, folder, memory->v2, state);
    });
  }
  if (!state.version) state.version_reason = absent;
  if (!state.cpu_quota) state.cpu_reason = cpu ? "no quota is set" : absent;
  if (!state.memory_limit) state.memory_reason = memory ? "no limit is set" : absent;
  if (!state.nr_throttled || !state.throttled_seconds) {
    state.throttle_reason = cpu ? "cpu.stat does not count throttling" : absent;
  }
  return state;
}

}  // namespace harness
