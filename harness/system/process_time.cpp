#include "harness/system/process_time.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace harness {
namespace {

struct ProcessTimes {
  long long session = 0;
  long long ticks = 0;  ///< of the clock, its own in user and kernel mode and its children's
};

/// Of the process whose /proc/PID/stat holds `text`; all 0 where it is another text.
ProcessTimes times_in(const std::string& text) {
  // PID (NAME) STATE PARENT GROUP SESSION ...; the name may hold anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  long long parent = 0;
  long long group = 0;
  ProcessTimes times;
  fields >> state >> parent >> group >> times.session;
  std::string skipped;
  constexpr int kBetweenSessionAndTimes = 7;
  for (int i = 0; i < kBetweenSessionAndTimes; ++i) fields >> skipped;
  for (int i = 0; i < 4; ++i) {
    long long ticks = 0;
    fields >> ticks;
    times.ticks += ticks;
  }
  return fields ? times : ProcessTimes{};
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string text;
  std::getline(stream, text, '\0');
  return text;
}

/// Calls `take` with the number and the times of each process in the session of `leader`.
template <class Take>
void for_session(pid_t leader, const Take& take) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename().string();
    if (!std::isdigit(static_cast<unsigned char>(name.front()))) continue;
    const ProcessTimes times = times_in(text_of(entry.path() / "stat"));
    if (times.session == leader) take(static_cast<pid_t>(std::stol(name)), times);
  }
}

/// The letter behind the name in a /proc/PID/stat; X, as of a dead one, where there is none.
char state_in(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? 'X' : stat[name_end + 2];
}

std::filesystem::path folder_of(pid_t process) {
  return std::filesystem::path("/proc") / std::to_string(process);
}

/// A letter for each thread of `process`; none where it is no more.
std::string thread_states(pid_t process) {
  std::string states;
  std::error_code failed;
  for (const auto& thread :
       std::filesystem::directory_iterator(folder_of(process) / "task", failed)) {
    states += state_in(text_of(thread.path() / "stat"));
  }
  return states;
}

/// The second of a schedstat's numbers, nanoseconds in the run queue.
double wait_in(const std::filesystem::path& schedstat) {
  std::ifstream file(schedstat);
  double ran = 0;
  double waited = 0;
  file >> ran >> waited;
  constexpr double kNano = 1e-9;
  return file ? waited * kNano : 0;
}

}  // namespace

double session_cpu_seconds(pid_t leader) {
  long long ticks = 0;
  for_session(leader, [&](pid_t, const ProcessTimes& times) { ticks += times.ticks; });
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::vector<pid_t> session_processes(pid_t leader) {
  std::vector<pid_t> processes;
  for_session(leader, [&](pid_t process, const ProcessTimes&) { processes.push_back(process); });
  return processes;
}

double processor_wait(pid_t process) { return wait_in(folder_of(process) / "schedstat"); }

double own_processor_wait() { return wait_in("/proc/thread-self/schedstat"); }

bool works(pid_t process) {
  const std::string states = thread_states(process);
  return states.find('R') != std::string::npos && states.find('D') == std::string::npos;
}

bool stands_still(pid_t process) {
  return thread_states(process).find_first_not_of("TtZX") == std::string::npos;
}

double memory_given_back(pid_t process) {
  std::ifstream file(folder_of(process) / "status");
  double most = 0;
  double now = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    double kib = 0;
    fields >> name >> kib;
    if (name == "VmHWM:") most = kib;
    if (name == "VmRSS:") now = kib;
  }
  constexpr double kKib = 1024;
  return std::max(0.0, most - now) * kKib;
}

}  // namespace harness
