// CPUs, cores and sockets as the kernel numbers them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/system/system_root.hpp"

namespace harness {

/// Where an online CPU sits. CPUs of one core share `core`.
struct CpuPlace {
  int core = 0;    ///< dense number of the physical core
  int socket = 0;  ///< the kernel's package number
};

/// The online CPUs; empty `cpus` with a reason when sysfs does not tell.
struct Topology {
  std::map<int, CpuPlace> cpus{};
  int cores = 0;
  int sockets = 0;
  std::string reason{};
};

Topology read_topology(const SystemRoot& root);

/// How many physical cores the given CPUs span; CPUs without a known place count one each.
int count_cores(const Topology& topology, const std::vector<int>& cpus);

/// The same CPUs, the first of each physical core before any of their SMT siblings.
std::vector<int> cores_first(const Topology& topology, const std::vector<int>& cpus);

/// One kind of cache of the machine.
struct Cache {
  int level = 0;
  std::string type{};  ///< Data, Instruction, Unified
  long long bytes = 0;
  long long line_bytes = 0;  ///< 0 when unknown
  int instances = 0;
};

struct Caches {
  std::vector<Cache> caches{};  ///< by level, then type
  std::string reason{};         ///< why `caches` is empty
};

/// From sysfs; for the real machine from hwloc (CPUID) when sysfs is silent, as in some sandboxes.
Caches read_caches(const SystemRoot& root);

/// Bytes of all last-level caches together; 0 when unknown.
long long last_level_cache_bytes(const Caches& caches);

}  // namespace harness
