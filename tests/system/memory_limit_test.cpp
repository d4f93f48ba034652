#include "harness/system/memory_limit.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <optional>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// Whether the system grants so much. Nothing is written there, so it takes no memory.
bool granted(std::size_t bytes) {
  void* const range = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return false;
  ::munmap(range, bytes);
  return true;
}

}  // namespace

TEST_CASE("a process that keeps to the memory left is not granted more", "[system]") {
  const std::optional<double> left = memory_left();
  if (!left) {
    WARN("skipped: how much memory is left is not known here");
    return;
  }
  const auto more = static_cast<std::size_t>(2 * *left);
  // The limit holds for the rest of a process: for one of its own here.
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool before = granted(more);
    keep_to_memory_left();
    const bool within = granted(std::size_t{1} << 20);
    ::_exit((before ? 1 : 0) + (granted(more) ? 2 : 0) + (within ? 4 : 0));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  const int answers = WEXITSTATUS(status);
  if ((answers & 1) == 0) WARN("this system grants no more than there is anyway");
  CHECK((answers & 2) == 0);
  CHECK((answers & 4) != 0);
}
