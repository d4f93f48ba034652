#include "harness/system/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/fact_reader.hpp"

namespace harness {
namespace {

using Findings = std::vector<Finding>;

constexpr double kLoadPerCpu = 0.5;  // others' load that takes a visible share of each CPU
constexpr double kLowMemoryShare = 0.1;
constexpr double kLowMemoryBytes = 2.0 * (1LL << 30);

Finding good(const char* id, std::string what) {
  return {id, Severity::kOk, std::move(what), "", "", false, false};
}
Finding note(const char* id, std::string what, std::string why, std::string how = {}) {
  return {id, Severity::kNote, std::move(what), std::move(why), std::move(how), false, false};
}
Finding warning(const char* id, std::string what, std::string why, std::string how,
                bool mistrust = false, bool spares_ratios = false) {
  return {id,       Severity::kWarning, std::move(what), std::move(why), std::move(how),
          mistrust, spares_ratios};
}

/// "1 CPU", "8 CPUs", of a number that the kernel counts.
std::string counted(double count, const std::string& noun) {
  return format_count(std::llround(count), noun);
}

std::string bytes_text(double bytes) { return format_quantity(bytes, "B"); }

void judge_clock(const FactReader& system, Findings& findings) {
  const char* const governor_why =
      "with other governors the clock follows the load, so short phases run slower";
  const auto governor = system.text("cpu.governor");
  if (!governor) {
    findings.push_back(note(
        "governor", "frequency governor unknown: " + system.reason("cpu.governor"), governor_why));
  } else if (*governor == "performance") {
    findings.push_back(good("governor", "frequency governor is performance"));
  } else {
    findings.push_back(warning(
        "governor", "frequency governor is " + *governor, governor_why,
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"));
  }

  const char* const turbo_why =
      "the turbo clock depends on temperature, on neighbours and on the instructions used";
  const auto turbo = system.flag("cpu.turbo");
  if (!turbo) {
    findings.push_back(
        note("turbo", "turbo state unknown: " + system.reason("cpu.turbo"), turbo_why));
  } else if (!*turbo) {
    findings.push_back(good("turbo", "turbo is off: the clock is steady"));
  } else {
    const bool intel = system.text("cpu.frequency_driver") == "intel_pstate";
    findings.push_back(note("turbo", "turbo is on", turbo_why,
                            intel
                                ? "for steadier numbers: "
                                  "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
                                : "for steadier numbers: "
                                  "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"));
  }
}

void judge_cpus(const FactReader& system, Findings& findings) {
  const auto smt = system.flag("cpu.smt_active");
  const auto cpus = system.number("limits.usable_cpus");
  const auto cores = system.number("limits.usable_cores");
  if (!smt) {
    findings.push_back(note("smt", "SMT state unknown: " + system.reason("cpu.smt_active"),
                            "two threads on one core share its FMA units"));
  } else if (*smt && cpus && cores && *cpus > *cores) {
    findings.push_back(note(
        "smt",
        fmt::format("{} are {}", counted(*cpus, "usable CPU"), counted(*cores, "physical core")),
        "two threads on one core share its FMA units",
        fmt::format("--threads {:.0f}, with --cpus naming one CPU of each core", *cores)));
  } else {
    findings.push_back(good(
        "smt", *smt ? "SMT is on, one CPU of each core is used" : "each CPU is a physical core"));
  }

  const auto threads = system.number("cpu.threads");
  const auto allowed = system.number("limits.affinity_count");
  if (threads && allowed && *allowed < *threads) {
    findings.push_back(
        note("affinity",
             fmt::format("bound to {:.0f} of {} ({})", *allowed, counted(*threads, "CPU"),
                         system.text("limits.affinity").value_or("?")),
             "peaks and threads count only these; a baseline must be bound the same way"));
  } else if (allowed) {
    findings.push_back(
        good("affinity", *allowed == 1 ? "the only CPU may be used"
                                       : fmt::format("all {:.0f} CPUs may be used", *allowed)));
  }

  const auto quota = system.number("limits.cgroup_cpu_quota");
  if (quota && *quota != std::floor(*quota)) {
    findings.push_back(
        warning("cpu-quota", fmt::format("the control group grants {:g} CPUs", *quota),
                "once a period's share is used up, all threads are stopped until the next one",
                "grant whole CPUs (docker run --cpuset-cpus=0-3, no --cpus) or use fewer threads"));
  } else if (quota && allowed && *quota < *allowed) {
    findings.push_back(
        note("cpu-quota",
             fmt::format("the control group grants {:g} of {}", *quota, counted(*allowed, "CPU")),
             "more threads than that are stopped for part of each period",
             fmt::format("--threads {:g}", std::max(1.0, *quota))));
  } else {
    findings.push_back(good("cpu-quota", "no CPU quota binds"));
  }

  if (const std::size_t nodes = system.size("numa_nodes"); nodes > 1) {
    findings.push_back(note("numa", fmt::format("{} NUMA nodes", nodes),
                            "memory of another node is slower to reach",
                            "bind to one node with --cpus, or use all nodes in every run"));
  }
}

void judge_vectors(const FactReader& system, Findings& findings) {
  const auto avx512 = system.flag("cpu.isa.avx512f");
  if (!avx512) return;  // of another architecture
  if (*avx512) {
    findings.push_back(good("instruction-set", "AVX-512"));
    return;
  }
  const bool avx2 = system.flag("cpu.isa.avx2").value_or(false);
  findings.push_back(note("instruction-set", avx2 ? "AVX2, no AVX-512" : "neither AVX2 nor AVX-512",
                          "vectors are shorter than with AVX-512, and the custom kernels that "
                          "need it leave their work to the library"));
}

void judge_load(const FactReader& system, const FactReader& environment, Findings& findings) {
  const auto load = environment.first("load_average");
  auto cpus = environment.number(kCpusCounted);
  if (!cpus) cpus = system.number("cpu.threads");
  const auto runnable = environment.number("runnable_tasks");
  if (!load || !cpus || *cpus < 1) {
    findings.push_back(note("load", "load unknown: " + environment.reason("load_average"),
                            "other processes take CPU time, caches and bandwidth"));
    return;
  }
  // The average remembers work of the last minutes, our own too; only tasks runnable at this
  // moment, while we merely look, are surely others'. What has ended cannot be stopped.
  const double others = std::max(0.0, runnable.value_or(1) - 1);
  const std::string what = fmt::format("load average {:.2f} on {}, {} runnable now", *load,
                                       counted(*cpus, "CPU"), counted(others, "other task"));
  const bool busy = *load >= kLoadPerCpu * *cpus;
  const bool busy_now = others >= kLoadPerCpu * *cpus;
  if (busy && runnable && others < 1) {
    findings.push_back(note("load", what, "the average lags: what made it no longer runs"));
  } else if (busy) {
    findings.push_back(warning("load", what, "other processes take CPU time, caches and bandwidth",
                               "stop them (top shows which) or wait", busy_now, true));
  } else {
    findings.push_back(good("load", what));
  }
}

void judge_memory(const FactReader& system, const FactReader& environment, Findings& findings) {
  const auto total = system.number("memory.total_bytes");
  const auto available = environment.number("memory_available_bytes");
  if (!available) {
    findings.push_back(note("memory",
                            "free memory unknown: " + environment.reason("memory_available_bytes"),
                            "a machine short of memory swaps or kills"));
  } else if (*available < kLowMemoryBytes || (total && *available < kLowMemoryShare * *total)) {
    findings.push_back(warning("memory", bytes_text(*available) + " of memory available",
                               "a machine short of memory swaps or kills",
                               "stop what holds memory, or use a smaller --batch-size"));
  } else {
    findings.push_back(good("memory", bytes_text(*available) + " of memory available"));
  }
  if (const auto swapped = environment.number("swap_used_bytes"); swapped && *swapped > 0) {
    findings.push_back(note("swap", bytes_text(*swapped) + " are swapped out",
                            "touching them again costs a disk access", "sudo swapoff -a"));
  }

  const auto huge = system.text("memory.transparent_huge_pages");
  const char* const huge_why =
      "a training step touches gigabytes of fresh memory; with 4 KiB pages "
      "it spends its time in page faults";
  if (!huge) {
    findings.push_back(
        note("huge-pages",
             "transparent huge pages unknown: " + system.reason("memory.transparent_huge_pages"),
             huge_why));
  } else if (*huge == "never") {
    findings.push_back(
        warning("huge-pages", "transparent huge pages are off", huge_why,
                "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"));
  } else {
    findings.push_back(good("huge-pages", "transparent huge pages: " + *huge));
  }
}

void judge_past_throttling(const FactReader& environment, Findings& findings) {
  if (const auto count = environment.number("cgroup_nr_throttled"); count && *count > 0) {
    findings.push_back(
        note("throttling", fmt::format("the CPU quota ran out {} so far", counted(*count, "time")),
             "while it is out, all threads are stopped", "use fewer threads or raise the quota"));
  }
  if (const auto count = environment.number("thermal_throttle_count"); count && *count > 0) {
    findings.push_back(
        note("thermal", fmt::format("{} since boot", counted(*count, "thermal throttling")),
             "a hot CPU lowers its clock", "look after cooling; leave pauses between runs"));
  }
}

void judge_platform(const FactReader& system, Findings& findings) {
  const auto hypervisor = system.text("os.virtualisation");
  if (hypervisor && *hypervisor != "none") {
    findings.push_back(note("virtual-machine", "this is a virtual machine (" + *hypervisor + ")",
                            "neighbours on the host and its clock cannot be seen from inside",
                            "compare only runs that were interleaved; prefer ratios"));
  }
  const auto allocator = system.text("build.malloc");
  if (allocator && !allocator->starts_with("libc.")) {
    findings.push_back(note("malloc", "malloc comes from " + *allocator,
                            "the allocator alone can be worth a factor of two",
                            "unset LD_PRELOAD to compare with glibc's"));
  }
  if (const auto tunables = system.text("build.glibc_tunables")) {
    findings.push_back(note("glibc-tunables", "GLIBC_TUNABLES is " + *tunables,
                            "the allocator alone can be worth a factor of two",
                            "unset GLIBC_TUNABLES; choose with --allocator"));
  }
}

void judge_build(const FactReader& system, Findings& findings) {
  const std::string type = system.text("build.type").value_or("unknown");
  const char* const how = "build with cmake --preset release";
  if (type == "Debug") {
    findings.push_back(warning("build", "a debug build", "it is several times slower", how, true));
  } else if (type == "unknown") {
    findings.push_back(note("build", "build type unknown", "a debug build is slower", how));
  } else if (system.flag("build.assertions").value_or(false)) {
    findings.push_back(note("build", type + " build with assertions", "assertions cost time", how));
  } else {
    findings.push_back(good("build", type + " build"));
  }
  const std::string sanitizers = system.text("build.sanitizers").value_or("");
  if (!sanitizers.empty()) {
    findings.push_back(warning("sanitizers", "built with sanitizers: " + sanitizers,
                               "they check every memory access", how, true));
  }
}

}  // namespace

std::vector<Finding> diagnose(const nlohmann::json& system, const nlohmann::json& environment) {
  const FactReader machine(system);
  const FactReader state(environment);
  Findings findings;
  judge_build(machine, findings);
  judge_clock(machine, findings);
  judge_cpus(machine, findings);
  judge_vectors(machine, findings);
  judge_load(machine, state, findings);
  judge_memory(machine, state, findings);
  judge_past_throttling(state, findings);
  judge_platform(machine, findings);
  return findings;
}

Finding judge_narrow(const std::vector<Peak>& peaks, const std::string& precision) {
  const std::string tag = "fma." + precision;
  const std::optional<double> fp32 = peak_of(peaks, "fma.fp32");
  const std::optional<double> narrow = peak_of(peaks, tag);
  Finding finding{.id = precision};
  if (!fp32 || !narrow) {
    finding.severity = Severity::kNote;
    finding.what = "no peak in " + precision + " to compare with fp32";
    for (const Peak& peak : peaks) {
      if (peak.tag == tag && !peak.reason.empty()) finding.what += ": " + peak.reason;
    }
    return finding;
  }
  const std::string both = fmt::format("{} in {}, {} in fp32", format_quantity(*narrow, "FLOP/s"),
                                       precision, format_quantity(*fp32, "FLOP/s"));
  if (*narrow >= *fp32) {
    finding.what = fmt::format("{} multiplies {:.1f} times as fast as fp32: {}", precision,
                               *narrow / *fp32, both);
    return finding;
  }
  finding.severity = Severity::kNote;
  finding.what = precision + " is slower than fp32 on this machine: " + both;
  finding.why = "a step in " + precision + " reads less memory, but multiplies longer";
  finding.how = "measure in fp32 (--precision fp32) before believing in " + precision;
  return finding;
}

std::string slow_build(const nlohmann::json& system) {
  Findings findings;
  judge_build(FactReader(system), findings);
  for (const Finding& finding : findings) {
    if (finding.mistrust) return finding.what;
  }
  return {};
}

std::string what_is_left(const std::vector<Finding>& findings) {
  bool any = false;
  bool ratios = true;
  for (const Finding& finding : findings) {
    if (!finding.mistrust) continue;
    any = true;
    ratios = ratios && finding.spares_ratios;
  }
  if (!any) return {};
  if (!ratios)
    return "neither seconds nor ratios can be used: mend what is mistrusted and measure again";
  return "seconds cannot be used; ratios can, where both sides were measured in turn (harness "
         "ablate, "
         "harness gate --ab-base CMD --ab-cand CMD)";
}

const char* to_text(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
  }
  return "unknown";
}

nlohmann::json to_json(const std::vector<Finding>& findings) {
  const auto text = [](const std::string& value) {
    return value.empty() ? nlohmann::json(nullptr) : nlohmann::json(value);
  };
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"id", finding.id},
                    {"severity", to_text(finding.severity)},
                    {"what", finding.what},
                    {"why", text(finding.why)},
                    {"how", text(finding.how)},
                    {"mistrust", finding.mistrust}});
  }
  return list;
}

std::string render_findings(const std::vector<Finding>& findings) {
  std::string text;
  int warnings = 0;
  for (const Severity severity : {Severity::kWarning, Severity::kNote, Severity::kOk}) {
    for (const Finding& finding : findings) {
      if (finding.severity != severity) continue;
      warnings += severity == Severity::kWarning ? 1 : 0;
      text += fmt::format("{:<8} {:<16} {}\n", to_text(severity), finding.id,
                          printable(finding.what, 400));
      if (!finding.why.empty()) text += fmt::format("{:26}{}\n", "", printable(finding.why, 400));
      if (!finding.how.empty()) {
        text += fmt::format("{:26}-> {}\n", "", printable(finding.how, 400));
      }
      if (finding.mistrust) {
        text += fmt::format("{:26}results measured like this are marked mistrusted\n", "");
      }
    }
  }
  text += warnings == 0 ? "No warnings.\n" : format_count(warnings, "warning") + ".\n";
  return text;
}

}  // namespace harness
