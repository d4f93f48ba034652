#include "harness/system/capture.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cmath>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/capture_cpu.hpp"
#include "harness/system/capture_os.hpp"
#include "harness/system/cgroup.hpp"
#include "harness/system/dmi.hpp"
#include "harness/system/topology.hpp"

namespace harness {
namespace {

constexpr const char* kHugePages = "/sys/kernel/mm/hugepages";

/// The chosen one of "always [madvise] never".
std::optional<std::string> bracketed(const std::string& text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  return text.substr(open + 1, close - open - 1);
}

std::optional<long long> meminfo_bytes(const Reading& meminfo, std::string_view key) {
  if (!meminfo.text) return std::nullopt;
  const auto value = keyed_value(*meminfo.text, key);
  return value ? kernel_size(*value) : std::nullopt;
}

std::string text_of(const nlohmann::json& system, const char* pointer) {
  const nlohmann::json::json_pointer at(pointer);
  return system.contains(at) && !system.at(at).is_null() ? system.at(at).dump() : "?";
}

void capture_caches_and_numa(const SystemRoot& root, Facts& facts) {
  const Caches caches = read_caches(root);
  if (caches.caches.empty()) {
    facts.miss("caches", caches.reason);
  } else {
    nlohmann::json list = nlohmann::json::array();
    for (const Cache& cache : caches.caches) {
      list.push_back({{"level", cache.level},
                      {"type", cache.type},
                      {"bytes", cache.bytes},
                      {"line_bytes", cache.line_bytes},
                      {"instances", cache.instances}});
    }
    facts.set("caches", list);
  }
  nlohmann::json nodes = nlohmann::json::array();
  for (const std::string& name : root.list("/sys/devices/system/node")) {
    if (!name.starts_with("node") || nodes.size() >= 1024) continue;
    const auto id = parse_integer(name.substr(4));
    if (!id) continue;
    const std::string folder = "/sys/devices/system/node/" + name;
    const Reading meminfo = root.raw(folder + "/meminfo", std::size_t{1} << 16);
    const auto bytes = meminfo_bytes(meminfo, fmt::format("Node {} MemTotal", *id));
    const Reading cpus = root.line(folder + "/cpulist");
    nodes.push_back({{"id", *id},
                     {"cpus", cpus.text ? nlohmann::json(*cpus.text) : nlohmann::json(nullptr)},
                     {"bytes", bytes ? nlohmann::json(*bytes) : nlohmann::json(nullptr)}});
  }
  if (nodes.empty()) {
    facts.miss("numa_nodes", "/sys/devices/system/node: no nodes described");
  } else {
    facts.set("numa_nodes", nodes);
  }
}

void capture_memory(const SystemRoot& root, Facts& facts) {
  const Reading meminfo = root.raw("/proc/meminfo", std::size_t{1} << 16);
  const std::string reason =
      meminfo.text ? "/proc/meminfo: the field is not there" : meminfo.reason;
  facts.put("memory.total_bytes", meminfo_bytes(meminfo, "MemTotal"), reason);
  facts.put("memory.swap_total_bytes", meminfo_bytes(meminfo, "SwapTotal"), reason);
  facts.put("memory.huge_page_bytes", meminfo_bytes(meminfo, "Hugepagesize"), reason);
  facts.put("memory.huge_pages", meminfo_bytes(meminfo, "HugePages_Total"), reason);
  const auto speed = read_memory_speed(root);
  facts.put("memory.transfers_per_second", speed.transfers_per_second, speed.reason);

  const Reading enabled = root.line("/sys/kernel/mm/transparent_hugepage/enabled");
  facts.put("memory.transparent_huge_pages", enabled.text ? bracketed(*enabled.text) : std::nullopt,
            enabled.text ? "no choice marked in " + *enabled.text : enabled.reason);
  const Reading defrag = root.line("/sys/kernel/mm/transparent_hugepage/defrag");
  facts.put("memory.transparent_huge_pages_defrag",
            defrag.text ? bracketed(*defrag.text) : std::nullopt,
            defrag.text ? "no choice marked in " + *defrag.text : defrag.reason);
  if (!root.exists(kHugePages)) facts.miss("memory.huge_page_sizes", "no hugetlb support");
  nlohmann::json sizes = nlohmann::json::array();
  for (const std::string& name : root.list(kHugePages)) sizes.push_back(clean_text(name));
  if (root.exists(kHugePages)) facts.set("memory.huge_page_sizes", sizes);
}

void capture_limits(const SystemRoot& root, Facts& facts) {
  const CgroupState cgroup = read_cgroup(root);
  facts.put("limits.cgroup_version", cgroup.version, cgroup.version_reason);
  facts.put("limits.cgroup_cpu_quota", cgroup.cpu_quota, cgroup.cpu_reason);
  facts.put("limits.cgroup_memory_bytes", cgroup.memory_limit, cgroup.memory_reason);
  try {
    const UsableCpus usable = usable_cpus(root);
    facts.set("limits.affinity", format_cpu_list(usable.cpus));
    facts.set("limits.affinity_count", usable.cpus.size());
    facts.set("limits.usable_cpus", usable.count);
    facts.set("limits.usable_cores", usable.physical_cores);
  } catch (const Error& error) {
    for (const char* field : {"affinity", "affinity_count", "usable_cpus", "usable_cores"}) {
      facts.miss(std::string("limits.") + field, error.why());
    }
  }
}

}  // namespace

std::string system_fingerprint(const nlohmann::json& system) {
  std::string text = "harness-system/1";
  for (const char* pointer :
       {"/cpu/vendor", "/cpu/model_name", "/cpu/family", "/cpu/model", "/cpu/stepping", "/cpu/isa",
        "/cpu/sockets", "/cpu/cores", "/cpu/threads", "/caches"}) {
    text += "\n" + text_of(system, pointer);
  }
  const nlohmann::json::json_pointer total("/memory/total_bytes");
  // The kernel's own share of the memory differs a little from boot to boot.
  text += system.contains(total) && system.at(total).is_number()
              ? fmt::format("\n{:.0f}", std::round(system.at(total).get<double>() / (1 << 30)))
              : "\n?";
  return sha256_hex(text);
}

nlohmann::json capture_system(const SystemRoot& root) {
  Facts facts;
  capture_cpu(root, facts);
  capture_caches_and_numa(root, facts);
  capture_memory(root, facts);
  capture_limits(root, facts);
  capture_os(root, facts);
  capture_build(facts);
  facts.set("fingerprint", system_fingerprint(facts.json()));
  return facts.json();
}

}  // namespace harness
