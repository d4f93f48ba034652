#include "harness/lockstep/stops.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "harness/base/error.hpp"

namespace harness {
namespace {

constexpr const char* kStops = "HARNESS_LOCKSTEP_STOPS";

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free, "two processes share it");

/// Null where that cannot be.
Count* map_count(int file, int protection) {
  void* const memory = ::mmap(nullptr, sizeof(Count), protection, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<Count*>(memory);
}

}  // namespace

StopsTold::StopsTold() : file_(::memfd_create("harness-stops", MFD_CLOEXEC)) {
  if (file_ >= 0 && ::ftruncate(file_, sizeof(Count)) == 0) {
    nanoseconds_ = map_count(file_, PROT_READ | PROT_WRITE);
  }
  if (nanoseconds_ != nullptr) return;
  const int why = errno;
  if (file_ >= 0) ::close(file_);
  throw Error("memory shared with a side", std::strerror(why));
}

StopsTold::~StopsTold() {
  ::munmap(nanoseconds_, sizeof(Count));
  ::close(file_);
}

std::pair<std::string, std::string> StopsTold::variable() const {
  return {kStops, fmt::format("/proc/{}/fd/{}", ::getpid(), file_)};
}

void StopsTold::add(double seconds) {
  constexpr double kNano = 1e9;
  *nanoseconds_ += static_cast<std::uint64_t>(std::llround(seconds * kNano));
}

std::function<double()> stops_heard() {
  const char* const given = std::getenv(kStops);
  const std::string path = given == nullptr ? "" : given;
  ::unsetenv(kStops);
  if (path.empty()) return {};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  struct stat status {};
  const bool whole = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_size == static_cast<off_t>(sizeof(Count));
  const Count* const count = whole ? map_count(file, PROT_READ) : nullptr;
  ::close(file);
  if (count == nullptr) return {};
  // Mapped for as long as this process lives.
  constexpr double kNano = 1e-9;
  return [count] { return kNano * static_cast<double>(count->load()); };
}

}  // namespace harness
