#include "harness/system/topology.hpp"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "harness/base/text.hpp"

namespace harness {
namespace {

std::vector<int> online_cpus(const SystemRoot& root) {
  const Reading reading = root.line("/sys/devices/system/cpu/online");
  if (!reading.text) return {};
  return kernel_cpu_list(*reading.text).value_or(std::vector<int>{});
}

Caches caches_of_hwloc() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return {{}, "hwloc_topology_init failed"};
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  std::map<std::pair<int, std::string>, Cache> found;
  if (hwloc_topology_load(topology) == 0) {
    const int depth = hwloc_topology_get_depth(topology);
    for (int d = 0; d < depth; ++d) {
      for (unsigned i = 0; i < hwloc_get_nbobjs_by_depth(topology, d); ++i) {
        const hwloc_obj_t object = hwloc_get_obj_by_depth(topology, d, i);
        if (!hwloc_obj_type_is_cache(object->type) || object->attr == nullptr) continue;
        const auto& attributes = object->attr->cache;
        const char* type = attributes.type == HWLOC_OBJ_CACHE_DATA          ? "Data"
                           : attributes.type == HWLOC_OBJ_CACHE_INSTRUCTION ? "Instruction"
                                                                            : "Unified";
        Cache& cache = found[{static_cast<int>(attributes.depth), type}];
        cache.level = static_cast<int>(attributes.depth);
        cache.type = type;
        cache.bytes = static_cast<long long>(attributes.size);
        cache.line_bytes = attributes.linesize;
        ++cache.instances;
      }
    }
  }
  hwloc_topology_destroy(topology);
  Caches result;
  for (auto& [key, cache] : found) {
    if (cache.bytes > 0) result.caches.push_back(std::move(cache));
  }
  if (result.caches.empty()) result.reason = "neither sysfs nor hwloc describe the caches";
  return result;
}

}  // namespace

Topology read_topology(const SystemRoot& root) {
  Topology topology;
  std::map<std::string, int> cores;
  std::set<int> sockets;
  for (const int cpu : online_cpus(root)) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    // The list of siblings names a core without relying on core_id, which is unique only per die.
    const Reading siblings = root.line(folder + "thread_siblings_list");
    if (!siblings.text) continue;
    const auto [core, is_new] = cores.emplace(*siblings.text, static_cast<int>(cores.size()));
    const auto socket = root.integer(folder + "physical_package_id").value_or(0);
    topology.cpus[cpu] = {core->second, static_cast<int>(std::clamp(socket, -1LL, 8192LL))};
    sockets.insert(topology.cpus[cpu].socket);
  }
  topology.cores = static_cast<int>(cores.size());
  topology.sockets = static_cast<int>(sockets.size());
  if (topology.cpus.empty()) topology.reason = "/sys/devices/system/cpu: no topology to read";
  return topology;
}

int count_cores(const Topology& topology, const std::vector<int>& cpus) {
  std::set<int> cores;
  int unknown = 0;
  for (const int cpu : cpus) {
    const auto place = topology.cpus.find(cpu);
    if (place == topology.cpus.end()) {
      ++unknown;
    } else {
      cores.insert(place->second.core);
    }
  }
  return static_cast<int>(cores.size()) + unknown;
}

std::vector<int> cores_first(const Topology& topology, const std::vector<int>& cpus) {
  std::set<int> cores;
  std::vector<int> first;
  std::vector<int> siblings;
  for (const int cpu : cpus) {
    const auto place = topology.cpus.find(cpu);
    const bool fresh = place == topology.cpus.end() || cores.insert(place->second.core).second;
    (fresh ? first : siblings).push_back(cpu);
  }
  first.insert(first.end(), siblings.begin(), siblings.end());
  return first;
}

Caches read_caches(const SystemRoot& root) {
  std::map<std::pair<int, std::string>, Cache> found;
  // A cache shared by several CPUs is described at each of them; the shared list tells them apart.
  std::set<std::tuple<int, std::string, std::string>> seen;
  for (const int cpu : online_cpus(root)) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/", cpu);
    for (const std::string& index : root.list(folder)) {
      if (!index.starts_with("index")) continue;
      const std::string base = folder + index + "/";
      const auto level = root.integer(base + "level");
      const Reading type = root.line(base + "type");
      const Reading size = root.line(base + "size");
      if (!level || *level < 1 || *level > 9 || !type.text || !size.text) continue;
      const auto bytes = kernel_size(*size.text);
      if (!bytes || *bytes == 0) continue;
      const std::string shared =
          root.line(base + "shared_cpu_list").text.value_or(fmt::format("{}", cpu));
      const int depth = static_cast<int>(*level);
      if (!seen.emplace(depth, *type.text, shared).second) continue;
      Cache& cache = found[{depth, *type.text}];
      cache.level = depth;
      cache.type = *type.text;
      cache.bytes = std::max(cache.bytes, *bytes);
      cache.line_bytes = root.integer(base + "coherency_line_size").value_or(0);
      ++cache.instances;
    }
  }
  if (found.empty() && root.is_real()) return caches_of_hwloc();
  Caches result;
  for (auto& [key, cache] : found) result.caches.push_back(std::move(cache));
  if (result.caches.empty()) result.reason = "/sys/devices/system/cpu: no caches described";
  return result;
}

long long last_level_cache_bytes(const Caches& caches) {
  long long bytes = 0;
  int level = 0;
  for (const Cache& cache : caches.caches) {
    if (cache.type == "Instruction" || cache.level < level) continue;
    level = cache.level;
    bytes = cache.bytes * cache.instances;
  }
  return bytes;
}

}  // namespace harness
