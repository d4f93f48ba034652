#include "harness/system/capture_cpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "harness/base/text.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/topology.hpp"

namespace harness {
namespace {

constexpr const char* kCpuInfo = "/proc/cpuinfo";
constexpr const char* kFrequency = "/sys/devices/system/cpu/cpu0/cpufreq/";

/// Our name of an ISA extension and the kernel's.
struct IsaFlag {
  const char* name;
  const char* kernel_name;
};

constexpr IsaFlag kX86Flags[] = {
    {"sse4_2", "sse4_2"},
    {"avx", "avx"},
    {"avx2", "avx2"},
    {"fma", "fma"},
    {"f16c", "f16c"},
    {"avx512f", "avx512f"},
    {"avx512bw", "avx512bw"},
    {"avx512vl", "avx512vl"},
    {"avx512dq", "avx512dq"},
    {"avx512_bf16", "avx512_bf16"},
    {"avx512_vnni", "avx512_vnni"},
    {"avx512_fp16", "avx512_fp16"},
    {"amx_tile", "amx_tile"},
    {"amx_bf16", "amx_bf16"},
    {"amx_int8", "amx_int8"},
};
constexpr IsaFlag kArmFlags[] = {
    {"neon", "asimd"}, {"sve", "sve"}, {"sve2", "sve2"}, {"bf16", "bf16"}, {"i8mm", "i8mm"},
};

template <std::size_t N>
void add_flags(const IsaFlag (&table)[N], const std::set<std::string>& flags, nlohmann::json& isa) {
  for (const IsaFlag& flag : table) isa[flag.name] = flags.count(flag.kernel_name) > 0;
}

/// The flags line is longer than a clean text may be, so it is cut out by itself.
std::set<std::string> flags_of(const std::string& cpuinfo, const char* key) {
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || trim(line.substr(0, colon)) != key) continue;
    std::istringstream words(line.substr(colon + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

void capture_model(const Reading& cpuinfo, Facts& facts) {
  const std::string absent = "/proc/cpuinfo: the field is not there";
  const auto put = [&](const char* field, const char* x86_key, const char* arm_key) {
    std::optional<std::string> value;
    if (cpuinfo.text) {
      value = keyed_value(*cpuinfo.text, x86_key);
      if (!value) value = keyed_value(*cpuinfo.text, arm_key);
    }
    facts.put(std::string("cpu.") + field, value, cpuinfo.text ? absent : cpuinfo.reason);
  };
  put("vendor", "vendor_id", "CPU implementer");
  put("model_name", "model name", "Processor");
  put("family", "cpu family", "CPU architecture");
  put("model", "model", "CPU part");
  put("stepping", "stepping", "CPU revision");
  put("microcode", "microcode", "microcode");

  nlohmann::json isa = nlohmann::json::object();
  if (cpuinfo.text) {
    const auto x86 = flags_of(*cpuinfo.text, "flags");
    const auto arm = flags_of(*cpuinfo.text, "Features");
    if (!x86.empty()) add_flags(kX86Flags, x86, isa);
    if (!arm.empty()) add_flags(kArmFlags, arm, isa);
  }
  if (isa.empty()) {
    facts.miss("cpu.isa", cpuinfo.text ? absent : cpuinfo.reason);
  } else {
    facts.set("cpu.isa", isa);
  }
}

void capture_counts(const SystemRoot& root, const Reading& cpuinfo, Facts& facts) {
  const Topology topology = read_topology(root);
  if (!topology.cpus.empty()) {
    facts.set("cpu.threads", topology.cpus.size());
    facts.set("cpu.cores", topology.cores);
    facts.set("cpu.sockets", topology.sockets);
  } else {
    long long processors = 0;
    std::istringstream lines(cpuinfo.text.value_or(""));
    for (std::string line; std::getline(lines, line);) processors += line.starts_with("processor");
    facts.put("cpu.threads", processors > 0 ? std::optional(processors) : std::nullopt,
              topology.reason);
    facts.miss("cpu.cores", topology.reason);
    facts.miss("cpu.sockets", topology.reason);
  }
  const auto active = root.integer("/sys/devices/system/cpu/smt/active");
  if (active == 0 || active == 1) {
    facts.set("cpu.smt_active", active == 1);
  } else if (topology.cores > 0) {
    facts.set("cpu.smt_active", static_cast<int>(topology.cpus.size()) > topology.cores);
  } else {
    facts.miss("cpu.smt_active", topology.reason);
  }
  facts.put("cpu.smt_control", root.line("/sys/devices/system/cpu/smt/control"));
}

void capture_clock(const SystemRoot& root, Facts& facts) {
  const auto hertz = [&](const std::string& name) -> std::optional<double> {
    const auto khz = root.integer(kFrequency + name);
    if (!khz || *khz <= 0 || *khz > 100'000'000) return std::nullopt;
    return static_cast<double>(*khz) * 1e3;
  };
  const std::string reason = root.exists(kFrequency)
                                 ? std::string(kFrequency) + ": not a frequency"
                                 : "no cpufreq driver is visible (usual in virtual machines)";
  facts.put("cpu.min_hertz", hertz("cpuinfo_min_freq"), reason);
  facts.put("cpu.max_hertz", hertz("cpuinfo_max_freq"), reason);
  for (const auto& [field, name] : {std::pair{"cpu.governor", "scaling_governor"},
                                    std::pair{"cpu.frequency_driver", "scaling_driver"}}) {
    const Reading reading = root.line(std::string(kFrequency) + name);
    facts.put(field, reading.text, reason);
  }
  const auto no_turbo = root.integer("/sys/devices/system/cpu/intel_pstate/no_turbo");
  const auto boost = root.integer("/sys/devices/system/cpu/cpufreq/boost");
  if (no_turbo == 0 || no_turbo == 1) {
    facts.set("cpu.turbo", no_turbo == 0);
  } else if (boost == 0 || boost == 1) {
    facts.set("cpu.turbo", boost == 1);
  } else {
    facts.miss("cpu.turbo", "neither intel_pstate/no_turbo nor cpufreq/boost can be read");
  }
}

}  // namespace

void capture_cpu(const SystemRoot& root, Facts& facts) {
  const Reading cpuinfo = root.raw(kCpuInfo, std::size_t{32} << 20);
  capture_model(cpuinfo, facts);
  capture_counts(root, cpuinfo, facts);
  capture_clock(root, facts);
}

}  // namespace harness
