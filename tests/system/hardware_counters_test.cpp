// Counters of the kernel, by events that every machine has; those of the processor are often hidden
// from virtual machines.
#include "harness/system/hardware_counters.hpp"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "harness/profile/views.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int kPages = 500;

void touch_new_pages() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  for (int i = 0; i < kPages; ++i) {
    static_cast<volatile char*>(memory)[static_cast<std::size_t>(i) * page] = 1;
  }
  munmap(memory, kPages * page);
}

}  // namespace

TEST_CASE("events are counted between start and stop, on all threads", "[counters]") {
  HardwareCounters counters({{"page_faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}},
                             {"nothing_like_it", {PERF_TYPE_SOFTWARE, 0xFFFFFF}}});
  CHECK(counters.sums().empty());
  counters.start();
  touch_new_pages();
  std::thread(touch_new_pages).join();
  counters.stop();
  if (counters.sums().empty()) {
    // Containers often forbid it.
    CHECK_THAT(counters.reason(), Catch::Contains("not allowed") || Catch::Contains("no perf"));
    return;
  }
  CHECK(counters.reason().empty());
  CHECK(counters.sums().count("nothing_like_it") == 0);
  const double first = counters.sums().at("page_faults");
  CHECK(first >= 2 * kPages);
  // What happens in between does not count; a second stretch is added.
  touch_new_pages();
  CHECK(counters.sums().at("page_faults") == first);
  counters.start();
  touch_new_pages();
  counters.stop();
  CHECK(counters.sums().at("page_faults") >= first + kPages);
  CHECK(counters.sums().at("page_faults") < first + 3 * kPages);
  counters.forget_last();
  CHECK(counters.sums().at("page_faults") == first);
}

TEST_CASE("a machine without counters says so", "[counters]") {
  HardwareCounters counters({{"nothing_like_it", {PERF_TYPE_SOFTWARE, 0xFFFFFF}}});
  counters.start();
  counters.stop();
  CHECK(counters.sums().empty());
  CHECK(!counters.reason().empty());
}

TEST_CASE("counters as people read them", "[counters]") {
  ProfileTables tables;
  CHECK(counters_text(tables).empty());
  tables.counters_reason = "hidden";
  CHECK(counters_text(tables) == "none: hidden");
  tables.counters = {{"cycles", 2e9}, {"instructions", 5e9}, {"cache_misses", 1e6}};
  CHECK(counters_text(tables) ==
        "cache_misses 1e+06, cycles 2e+09, instructions 5e+09, 2.50 instructions a cycle (a step, "
        "user mode)");
}
