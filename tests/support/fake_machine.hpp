// A /proc and /sys tree in a temporary folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "harness/system/system_root.hpp"
#include "tests/support/temporary_folder.hpp"

namespace harness {

class FakeMachine {
 public:
  FakeMachine& file(const std::string& path, const std::string& content) {
    const std::filesystem::path place = folder_ / std::filesystem::path(path).relative_path();
    std::filesystem::create_directories(place.parent_path());
    std::ofstream(place, std::ios::binary) << content;
    return *this;
  }
  void remove(const std::string& path) {
    std::filesystem::remove_all(folder_ / std::filesystem::path(path).relative_path());
  }
  SystemRoot root() const { return SystemRoot(folder_.path()); }
  const std::filesystem::path& path() const { return folder_.path(); }

  /// Two cores with two threads each, AVX2, a quota of one and a half CPUs, 16 GiB.
  static void fill_small_server(FakeMachine& machine) {
    std::string cpuinfo;
    std::string stat = "cpu  400 0 100 9000 0 0 0 8 0 0\n";
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string number = std::to_string(cpu);
      cpuinfo += "processor\t: " + number +
                 "\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
                 "model name\t: Example CPU @ 2.00GHz\nstepping\t: 7\nmicrocode\t: 0x5003605\n"
                 "cpu MHz\t\t: " +
                 std::to_string(2000 + 100 * cpu) +
                 ".000\nflags\t\t: fpu sse4_2 avx avx2 fma f16c hypervisor\n\n";
      stat += "cpu" + number + " 100 0 25 2250 0 0 0 2 0 0\n";
      const std::string folder = "/sys/devices/system/cpu/cpu" + number;
      const std::string siblings = cpu % 2 == 0 ? "0,2\n" : "1,3\n";
      machine.file(folder + "/topology/thread_siblings_list", siblings)
          .file(folder + "/topology/physical_package_id", "0\n")
          .file(folder + "/cache/index0/level", "1\n")
          .file(folder + "/cache/index0/type", "Data\n")
          .file(folder + "/cache/index0/size", "32K\n")
          .file(folder + "/cache/index0/coherency_line_size", "64\n")
          .file(folder + "/cache/index0/shared_cpu_list", siblings)
          .file(folder + "/cache/index3/level", "3\n")
          .file(folder + "/cache/index3/type", "Unified\n")
          .file(folder + "/cache/index3/size", "8192K\n")
          .file(folder + "/cache/index3/shared_cpu_list", "0-3\n")
          .file(folder + "/thermal_throttle/core_throttle_count", "3\n");
    }
    machine.file("/proc/cpuinfo", cpuinfo)
        .file("/proc/stat", stat + "procs_running 2\n")
        .file("/proc/loadavg", "0.50 0.25 0.10 2/300 1234\n")
        .file("/proc/uptime", "1000.50 3000.00\n")
        .file("/proc/vmstat", "pswpin 5\npswpout 7\n")
        .file("/proc/1/stat", "1 (init)\n")
        .file("/proc/1/cgroup", "0::/\n")
        .file("/proc/self/cgroup", "0::/runner/job\n")
        .file("/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n")
        .file(
            "/proc/meminfo",
            "MemTotal:       16777216 kB\nMemFree:         8388608 kB\n"
            "MemAvailable:   12582912 kB\nSwapTotal:       1048576 kB\n"
            "SwapFree:        1047552 kB\nHugePages_Total:       4\nHugepagesize:       2048 kB\n")
        .file("/sys/devices/system/cpu/online", "0-3\n")
        .file("/sys/devices/system/cpu/smt/active", "1\n")
        .file("/sys/devices/system/cpu/smt/control", "on\n")
        .file("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n")
        .file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
        .file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate\n")
        .file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq", "800000\n")
        .file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n")
        .file("/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n")
        .file("/sys/devices/system/cpu/vulnerabilities/mds", "Mitigation: Clear CPU buffers\n")
        .file("/sys/devices/system/cpu/vulnerabilities/l1tf", "Vulnerable\n")
        .file("/sys/devices/system/node/node0/cpulist", "0-3\n")
        .file("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 16777216 kB\n")
        .file("/sys/class/thermal/thermal_zone0/temp", "54500\n")
        .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
        .file("/sys/kernel/mm/transparent_hugepage/defrag", "always defer [never]\n")
        .file("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
        .file("/sys/fs/cgroup/runner/cpu.max", "300000 100000\n")
        .file("/sys/fs/cgroup/runner/memory.max", "8589934592\n")
        .file("/sys/fs/cgroup/runner/memory.current", "6442450944\n")
        .file("/sys/fs/cgroup/runner/memory.stat", "anon 1\ninactive_file 1073741824\n")
        .file("/sys/fs/cgroup/runner/job/cpu.max", "150000 100000\n")
        .file("/sys/fs/cgroup/runner/job/cpu.stat", "nr_throttled 12\nthrottled_usec 2500000\n")
        .file("/sys/fs/cgroup/runner/job/memory.max", "max\n")
        .file("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Example Linux 12\"\n");
  }

 private:
  TemporaryFolder folder_{};
};

}  // namespace harness
