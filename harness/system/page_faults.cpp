#include "harness/system/page_faults.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <thread>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/steady.hpp"

namespace harness {
namespace {

constexpr std::size_t kBytes = std::size_t{128} << 20;
constexpr int kRounds = 7;

class Mapping {
 public:
  Mapping()
      : begin_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (begin_ == MAP_FAILED) throw Error("memory", "the system gives no 128 MiB");
  }
  ~Mapping() { munmap(begin_, kBytes); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  char* begin() const { return static_cast<char*>(begin_); }

 private:
  void* begin_;
};

/// Writes a byte of each page, a stretch for each thread, as a loop over a tensor does.
void touch(char* begin, int threads, std::size_t page) {
  const std::size_t pages = kBytes / page;
  const auto stretch = [&](int thread) {
    const auto share = [&](int number) {
      return pages * static_cast<std::size_t>(number) / static_cast<std::size_t>(threads);
    };
    for (std::size_t i = share(thread); i < share(thread + 1); ++i) {
      const_cast<volatile char*>(begin)[i * page] = 1;
    }
  };
  std::vector<std::jthread> others;
  try {
    for (int i = 1; i < threads; ++i) others.emplace_back(stretch, i);
  } catch (const std::system_error&) {
    throw Error("threads", "the system gives no more");
  }
  stretch(0);
}

/// Of all threads, without those that read from a disk.
double faults_so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt);
}

}  // namespace

double page_fault_seconds(int threads) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::array<double, kRounds> seconds{};
  for (double& round : seconds) {
    double warm = 0;
    const double faults = faults_so_far();
    const double begin = steady_seconds();
    {
      const Mapping memory;
      touch(memory.begin(), threads, page);
      const double faulted = steady_seconds();
      touch(memory.begin(), threads, page);
      warm = steady_seconds() - faulted;
    }
    // Counted: where the system gives huge pages unasked, a fault brings many of the base size.
    const double taken = std::max(faults_so_far() - faults, 1.0);
    round = std::max(steady_seconds() - begin - 2 * warm, 0.0) / taken;
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
  return seconds[kRounds / 2];
}

}  // namespace harness
