// What the processes of a session used, and waited for.
#include "harness/system/process_time.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// A shell in a session of its own, whose two children spin on one processor.
pid_t start_spinning() {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setsid();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
  ::sched_setaffinity(0, sizeof one, &one);
  ::execl("/bin/sh", "sh", "-c", "(while :; do :; done) & (while :; do :; done) & wait", nullptr);
  ::_exit(1);
}

/// Of those in the session, the one that waited longest.
double longest_wait(pid_t leader) {
  double longest = 0;
  for (const pid_t process : session_processes(leader)) {
    longest = std::max(longest, processor_wait(process));
  }
  return longest;
}

}  // namespace

TEST_CASE("a session's processes are counted, whichever of them works", "[system]") {
  const pid_t leader = start_spinning();
  REQUIRE(leader > 0);
  // Until they have spun for so long together; a busy machine may take its time.
  double used = 0;
  double waited = 0;
  const bool counted = std::filesystem::exists("/proc/self/schedstat");
  for (int i = 0; i < 600 && (used < 0.5 || (counted && waited < 0.2)); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    used = session_cpu_seconds(leader);
    waited = longest_wait(leader);
  }
  CHECK(session_processes(leader).size() == 3);
  ::kill(-leader, SIGKILL);
  ::waitpid(leader, nullptr, 0);
  CHECK(used >= 0.5);
  // Two on one processor: while one spins, the other waits.
  CHECK(waited >= (counted ? 0.2 : 0));
  constexpr pid_t kNobody = -5;
  CHECK(session_cpu_seconds(kNobody) == 0);
  CHECK(session_processes(kNobody).empty());
  CHECK(processor_wait(kNobody) == 0);
  CHECK(own_processor_wait() >= 0);
}

TEST_CASE("a process works, sleeps, or stands still", "[system]") {
  const auto comes_true = [](const auto& condition) {
    for (int i = 0; i < 2000 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return condition();
  };
  const pid_t leader = start_spinning();
  REQUIRE(leader > 0);
  CHECK(comes_true([&] { return session_processes(leader).size() == 3; }));
  // The shell waits for the two that spin.
  for (const pid_t process : session_processes(leader)) {
    CHECK(comes_true([&] { return works(process) == (process != leader); }));
    CHECK_FALSE(stands_still(process));
    CHECK(memory_given_back(process) >= 0);
  }
  ::kill(-leader, SIGSTOP);
  for (const pid_t process : session_processes(leader)) {
    CHECK(comes_true([&] { return stands_still(process); }));
    CHECK_FALSE(works(process));
  }
  ::kill(-leader, SIGCONT);
  for (const pid_t process : session_processes(leader)) {
    CHECK(comes_true([&] { return !stands_still(process); }));
  }
  ::kill(-leader, SIGKILL);
  ::waitpid(leader, nullptr, 0);
  CHECK(stands_still(leader));  // it is no more
  CHECK_FALSE(works(leader));
}

TEST_CASE("memory that a process gave back is known", "[system]") {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  // Mapped by hand: an allocator may keep what is freed, as the sanitizers' does.
  void* const taken =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(taken != MAP_FAILED);
  std::memset(taken, 'x', kBytes);
  REQUIRE(::munmap(taken, kBytes) == 0);
  constexpr double kMost = 0.5;  // of it may be taken otherwise meanwhile
  CHECK(memory_given_back(::getpid()) >= kMost * static_cast<double>(kBytes));
  CHECK(memory_given_back(-5) == 0);
}
