#include "harness/system/hardware_counters.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "harness/base/text.hpp"

namespace harness {
namespace {

HardwareCounters::Events common_events() {
  const auto hardware = [](std::uint64_t event) {
    return std::pair<std::uint32_t, std::uint64_t>(PERF_TYPE_HARDWARE, event);
  };
  return {{"cycles", hardware(PERF_COUNT_HW_CPU_CYCLES)},
          {"instructions", hardware(PERF_COUNT_HW_INSTRUCTIONS)},
          {"cache_references", hardware(PERF_COUNT_HW_CACHE_REFERENCES)},
          {"cache_misses", hardware(PERF_COUNT_HW_CACHE_MISSES)},
          {"branch_misses", hardware(PERF_COUNT_HW_BRANCH_MISSES)}};
}

std::vector<pid_t> threads_of_this_process() {
  std::vector<pid_t> threads;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const auto number = parse_integer(entry.path().filename().string());
    if (number) threads.push_back(static_cast<pid_t>(*number));
  }
  return threads;
}

int open_counter(const std::pair<std::uint32_t, std::uint64_t>& event, pid_t thread) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.first;
  attributes.config = event.second;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

/// Counted, scaled to the whole time; empty where the counter never ran.
std::optional<double> read_counter(int file) {
  std::array<std::uint64_t, 3> values{};  // count, time enabled, time running
  if (read(file, values.data(), sizeof values) != static_cast<ssize_t>(sizeof values)) return {};
  if (values[1] == 0) return 0;  // its thread slept all the while
  if (values[2] == 0) return {};
  return static_cast<double>(values[0]) * static_cast<double>(values[1]) /
         static_cast<double>(values[2]);
}

std::string why(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return "this machine has none (a virtual one often shows none to its guests)";
    case EACCES:
    case EPERM:
      return "not allowed here: sysctl kernel.perf_event_paranoid=2 or lower, and no filter of "
             "system calls, would";
    case ENOSYS:
      return "this kernel has no perf events";
    default:
      return std::string("perf_event_open: ") + std::strerror(error);
  }
}

}  // namespace

HardwareCounters::HardwareCounters() : HardwareCounters(common_events()) {}
HardwareCounters::HardwareCounters(Events events) : events_(std::move(events)) {}
HardwareCounters::~HardwareCounters() { close(); }

void HardwareCounters::open() {
  int error = 0;
  std::set<std::string> missing;
  for (const pid_t thread : threads_of_this_process()) {
    for (const auto& [name, event] : events_) {
      const int file = open_counter(event, thread);
      if (file >= 0) {
        files_[name].push_back(file);
      } else if (errno != ESRCH) {  // a thread that has ended meanwhile
        error = errno;
        missing.insert(name);
      }
    }
  }
  for (const std::string& name : missing) {
    for (const int file : files_[name]) ::close(file);
    files_.erase(name);
  }
  reason_ = files_.empty() ? why(error) : "";
}

void HardwareCounters::start() {
  close();
  open();
}

void HardwareCounters::stop() {
  last_.clear();
  for (const auto& [name, files] : files_) {
    for (const int file : files) {
      if (const auto counted = read_counter(file)) last_[name] += *counted;
    }
  }
  for (const auto& [name, count] : last_) sums_[name] += count;
  if (sums_.empty() && reason_.empty()) reason_ = "the processor's counters were never free";
  close();
}

void HardwareCounters::forget_last() {
  for (const auto& [name, count] : last_) sums_[name] -= count;
  last_.clear();
}

void HardwareCounters::close() {
  for (const auto& [name, files] : files_) {
    for (const int file : files) ::close(file);
  }
  files_.clear();
}

}  // namespace harness
