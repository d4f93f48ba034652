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

/// Clock ticks of the process whose /proc/PID/stat holds `text`; 0 where it is of another session.
long long ticks_in(const std::string& text, pid_t session) {
  // PID (NAME) STATE PARENT GROUP SESSION ...; the name may hold anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  long long parent = 0;
  long long group = 0;
  long long of_session = 0;
  fields >> state >> parent >> group >> of_session;
  if (!fields || of_session != session) return 0;
  std::string skipped;
  constexpr int kBetweenSessionAndTimes = 7;
  for (int i = 0; i < kBetweenSessionAndTimes; ++i) fields >> skipped;
  long long sum = 0;
  // Its own in user and kernel mode, and the same of its children.
  for (int i = 0; i < 4; ++i) {
    long long ticks = 0;
    fields >> ticks;
    sum += ticks;
  }
  return fields ? sum : 0;
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
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename().string();
    if (!std::isdigit(static_cast<unsigned char>(name.front()))) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text, '\0');
    ticks += ticks_in(text, leader);
  }
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double processor_wait(pid_t process) {
  return wait_in(std::filesystem::path("/proc") / std::to_string(process) / "schedstat");
}

double own_processor_wait() { return wait_in("/proc/thread-self/schedstat"); }

}  // namespace harness
