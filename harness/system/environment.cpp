#include "harness/system/environment.hpp"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/cgroup.hpp"

namespace harness {
namespace {

constexpr std::size_t kMaxCpus = 8192;

// Readings of what is runnable, and the time between two of them.
constexpr int kReadings = 5;
constexpr std::chrono::milliseconds kBetweenReadings{5};

std::optional<long long> runnable_in(const Reading& loadavg) {
  if (!loadavg.text) return std::nullopt;
  const auto fields = split(*loadavg.text, ' ');
  if (fields.size() < 4) return std::nullopt;
  const auto runnable = parse_integer(split(fields[3], '/').front());
  return runnable && *runnable >= 0 ? runnable : std::nullopt;
}

void capture_load(const SystemRoot& root, Facts& facts) {
  const Reading reading = root.line("/proc/loadavg");
  std::vector<double> averages;
  if (reading.text) {
    const auto fields = split(*reading.text, ' ');
    for (std::size_t i = 0; i < 3 && i < fields.size(); ++i) {
      const auto value = parse_number(fields[i]);
      if (value && *value >= 0 && *value < 1e6) averages.push_back(*value);
    }
  }
  const std::string reason = reading.text ? "/proc/loadavg: not as expected" : reading.reason;
  facts.put("load_average",
            averages.size() == 3 ? std::optional<nlohmann::json>(averages) : std::nullopt, reason);
  facts.put("runnable_tasks",
            usually_runnable([&] { return runnable_in(root.line("/proc/loadavg")); }), reason);

  const std::vector<std::string> entries = root.list("/proc");
  const auto processes = std::count_if(entries.begin(), entries.end(), [](const auto& name) {
    return parse_integer(name).has_value();
  });
  facts.put("processes", processes > 0 ? std::optional(processes) : std::nullopt,
            "/proc: no processes listed");
}

void capture_free_memory(const SystemRoot& root, Facts& facts) {
  const Reading meminfo = root.raw("/proc/meminfo", std::size_t{1} << 16);
  const std::string reason =
      meminfo.text ? "/proc/meminfo: the field is not there" : meminfo.reason;
  const auto bytes = [&](const char* key) -> std::optional<long long> {
    if (!meminfo.text) return std::nullopt;
    const auto value = keyed_value(*meminfo.text, key);
    return value ? kernel_size(*value) : std::nullopt;
  };
  facts.put("memory_free_bytes", bytes("MemFree"), reason);
  facts.put("memory_available_bytes", bytes("MemAvailable"), reason);
  const auto total = bytes("SwapTotal");
  const auto left = bytes("SwapFree");
  facts.put("swap_used_bytes",
            total && left && *left <= *total ? std::optional(*total - *left) : std::nullopt,
            reason);
  const Reading vmstat = root.raw("/proc/vmstat", std::size_t{1} << 16);
  std::optional<long long> swapped;
  for (const std::string& line : split(vmstat.text.value_or(""), '\n')) {
    if (!line.starts_with("pswpin ") && !line.starts_with("pswpout ")) continue;
    const auto pages = parse_integer(trim(line.substr(line.find(' '))));
    if (pages && *pages >= 0 && *pages < (1LL << 50)) swapped = swapped.value_or(0) + *pages;
  }
  facts.put("swapped_pages", swapped,
            vmstat.text ? "/proc/vmstat: no pswpin and pswpout" : vmstat.reason);
}

/// Time of the CPUs we may use: busy with anything, and stolen by the hypervisor. Together with our
/// own CPU time it tells how much others took during a run, which the load average cannot.
void capture_cpu_time(const SystemRoot& root, Facts& facts) {
  std::set<std::string> ours;
  try {
    for (const int cpu : allowed_cpus()) ours.insert("cpu" + std::to_string(cpu));
  } catch (const Error&) {
    // Without a mask no line matches and the fields below say so.
  }
  const auto tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const Reading stat = root.raw("/proc/stat", std::size_t{8} << 20);
  long long counted = 0;
  double busy = 0;
  double stolen = 0;
  std::istringstream lines(stat.text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (ours.count(name) == 0) continue;
    // user nice system idle iowait irq softirq steal; guest time is part of user time
    double fields[8] = {};
    bool whole = true;
    for (double& field : fields) whole = whole && (words >> field) && field >= 0 && field < 1e15;
    if (!whole) continue;
    ++counted;
    busy += (fields[0] + fields[1] + fields[2] + fields[5] + fields[6]) / tick;
    stolen += fields[7] / tick;
  }
  const std::string reason = stat.text ? "/proc/stat: no lines for our CPUs" : stat.reason;
  const bool known = counted > 0;
  facts.put(kCpusCounted, known ? std::optional(counted) : std::nullopt, reason);
  facts.put("cpu_busy_seconds", known ? std::optional(busy) : std::nullopt, reason);
  facts.put("cpu_steal_seconds", known ? std::optional(stolen) : std::nullopt, reason);

  double own = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    struct rusage usage {};
    if (::getrusage(who, &usage) != 0) continue;
    for (const auto& time : {usage.ru_utime, usage.ru_stime}) {
      own += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    }
  }
  facts.set(kOwnCpuSeconds, own);
}

std::vector<double> current_hertz(const SystemRoot& root) {
  std::vector<double> hertz;
  const auto keep = [&](double value) {
    if (value > 1e6 && value < 1e11 && hertz.size() < kMaxCpus) hertz.push_back(value);
  };
  for (const std::string& name : root.list("/sys/devices/system/cpu")) {
    if (!name.starts_with("cpu") || !parse_integer(name.substr(3))) continue;
    const auto khz = root.integer("/sys/devices/system/cpu/" + name + "/cpufreq/scaling_cur_freq");
    if (khz) keep(static_cast<double>(*khz) * 1e3);
  }
  if (!hertz.empty()) return hertz;
  std::istringstream lines(root.raw("/proc/cpuinfo", std::size_t{32} << 20).text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cpu MHz")) continue;
    const auto mhz = parse_number(trim(line.substr(std::min(line.size(), line.find(':') + 1))));
    if (mhz) keep(*mhz * 1e6);
  }
  return hertz;
}

void capture_clocks(const SystemRoot& root, Facts& facts) {
  std::vector<double> hertz = current_hertz(root);
  std::sort(hertz.begin(), hertz.end());
  const auto at = [&](std::size_t i) {
    return hertz.empty() ? std::nullopt : std::optional(hertz[i]);
  };
  const std::string reason = "neither cpufreq nor /proc/cpuinfo tells the current clock";
  facts.put("frequency_hertz.min", at(0), reason);
  facts.put("frequency_hertz.median", at(hertz.size() / 2), reason);
  facts.put("frequency_hertz.max", at(hertz.empty() ? 0 : hertz.size() - 1), reason);
}

void capture_heat(const SystemRoot& root, Facts& facts) {
  std::optional<double> hottest;
  const auto keep = [&](const std::string& path) {
    const auto milli = root.integer(path);
    if (!milli || *milli < -50'000 || *milli > 200'000) return;
    hottest = std::max(hottest.value_or(-1e3), static_cast<double>(*milli) * 1e-3);
  };
  for (const std::string& zone : root.list("/sys/class/thermal")) {
    const std::string folder = "/sys/class/thermal/" + zone;
    if (zone.starts_with("thermal_zone")) keep(folder + "/temp");
  }
  for (const std::string& monitor : root.list("/sys/class/hwmon")) {
    const std::string folder = "/sys/class/hwmon/" + monitor;
    const std::string name = root.line(folder + "/name").text.value_or("");
    if (name == "coretemp" || name == "k10temp" || name == "zenpower")
      keep(folder + "/temp1_input");
  }
  facts.put("temperature_celsius", hottest, "no thermal zone or CPU sensor can be read");

  std::optional<long long> throttled;
  for (const std::string& name : root.list("/sys/devices/system/cpu")) {
    const auto count =
        root.integer("/sys/devices/system/cpu/" + name + "/thermal_throttle/core_throttle_count");
    if (count && *count >= 0 && *count < (1LL << 50)) throttled = throttled.value_or(0) + *count;
  }
  facts.put("thermal_throttle_count", throttled, "the kernel counts no thermal throttling here");
}

}  // namespace

std::optional<long long> usually_runnable(const std::function<std::optional<long long>()>& read) {
  std::vector<long long> readings;
  for (int i = 0; i < kReadings; ++i) {
    if (i > 0) std::this_thread::sleep_for(kBetweenReadings);
    const std::optional<long long> now = read();
    if (!now || (i == 0 && *now <= 1)) return now;
    readings.push_back(*now);
  }
  std::sort(readings.begin(), readings.end());
  return readings[kReadings / 2];
}

nlohmann::json capture_environment(const SystemRoot& root) {
  Facts facts;
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  facts.set("monotonic_seconds",
            static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
  const Reading uptime = root.line("/proc/uptime");
  const auto seconds = uptime.text ? parse_number(split(*uptime.text, ' ').front()) : std::nullopt;
  facts.put("uptime_seconds", seconds, uptime.text ? "/proc/uptime: not a number" : uptime.reason);
  capture_load(root, facts);
  capture_free_memory(root, facts);
  capture_cpu_time(root, facts);
  capture_clocks(root, facts);
  capture_heat(root, facts);
  const CgroupState cgroup = read_cgroup(root);
  facts.put("cgroup_nr_throttled", cgroup.nr_throttled, cgroup.throttle_reason);
  facts.put("cgroup_throttled_seconds", cgroup.throttled_seconds, cgroup.throttle_reason);
  return facts.json();
}

}  // namespace harness
