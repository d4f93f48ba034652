#include <hwy/targets.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/system/peaks/bf16.hpp"
#include "harness/system/peaks/copy_buffer.hpp"
#include "harness/system/peaks/highway.hpp"
#include "harness/system/peaks/int8.hpp"
#include "harness/system/peaks/kernels.hpp"
#include "harness/system/peaks/sampler.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

PeakOptions quick() {
  PeakOptions options;
  options.settle_seconds = 0;
  options.warm_seconds = 0;
  options.timed_seconds = 0.0005;
  options.copy_bytes = 1 << 20;
  return options;
}

int threads_now() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return -1;
}

/// A joined thread is counted for a moment longer, until the kernel has put it away.
bool threads_become(int expected) {
  for (int tries = 0; tries < 2000 && threads_now() != expected; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return threads_now() == expected;
}

}  // namespace

TEST_CASE("arithmetic kernels compute what they must, and a wrong result is seen", "[peaks]") {
  alignas(64) static unsigned char result[kPeakResultBytes];
  for (const FlopKernel& kernel :
       {fma_fp32_kernel(), fma_fp64_kernel(), fma_bf16_kernel(), fma_int8_kernel()}) {
    INFO(kernel.tag << ": " << kernel.method << kernel.reason);
    REQUIRE((kernel.run != nullptr) == kernel.reason.empty());
    if (kernel.run == nullptr) continue;
    CHECK(kernel.flops > 1000);
    std::memset(result, 0, sizeof result);
    CHECK_FALSE(kernel.check(result));
    kernel.run(result);
    CHECK(kernel.check(result));
    // The first value one per cent off: a kernel that did less work than it counts.
    const auto spoil = [&]<class Number>(Number first) {
      std::memcpy(&first, result, sizeof first);
      first = static_cast<Number>(static_cast<double>(first) * 1.01);
      std::memcpy(result, &first, sizeof first);
    };
    if (kernel.tag == "fma.fp64") {
      spoil(double{});
    } else if (kernel.tag == "fma.int8") {
      spoil(std::int32_t{});
    } else {
      spoil(float{});
    }
    CHECK_FALSE(kernel.check(result));
  }
}

#if HWY_ARCH_X86
TEST_CASE("without AVX-512 the peaks use what there is, and say so", "[peaks]") {
  alignas(64) static unsigned char result[kPeakResultBytes];
  hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL);
  const FlopKernel kernel = fma_fp32_kernel();
  CHECK_THAT(kernel.method, !Catch::Contains("AVX-512"));
  kernel.run(result);
  CHECK(kernel.check(result));
  hwy::DisableTargets(0);
}
#endif

TEST_CASE("streamed copies are exact", "[peaks]") {
  CopyBuffer buffer;
  REQUIRE(buffer.allocate(1));
  for (int block = 0; block < 5; ++block) {  // around the end of the buffer, too
    buffer.poison();
    CHECK_FALSE(buffer.check());
    CHECK(buffer.copy_next() == 2.0 * CopyBuffer::kBlockBytes);
    CHECK(buffer.check());
  }
}

TEST_CASE("each burst adds one positive sample a quantity, and the threads end", "[peaks]") {
  std::thread([] {}).join();  // sanitizers start a helper of their own with the first thread
  // It has come when the number stays as it is for a while.
  int before = threads_now();
  for (int alike = 0; alike < 20; ++alike) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const int now = threads_now();
    if (now != before) alike = 0;
    before = now;
  }
  {
    PeakSampler sampler(2, quick());
    CHECK(threads_become(before + 2));
    for (const Peak& peak : sampler.peaks()) CHECK(peak.samples.empty());
    sampler.burst();
    sampler.burst();
    std::vector<std::string> tags;
    for (const Peak& peak : sampler.peaks()) {
      tags.push_back(peak.tag);
      INFO(peak.tag << ": " << peak.reason);
      CHECK(peak.threads == 2);
      CHECK_FALSE(peak.value);
      CHECK(peak.samples.size() == (peak.reason.empty() ? 2U : 0U));
      for (const double sample : peak.samples) CHECK((std::isfinite(sample) && sample > 0));
    }
    CHECK(tags == std::vector<std::string>{"fma.fp32", "fma.fp64", "fma.bf16", "fma.int8",
                                           "copy.bandwidth"});
  }
  CHECK(threads_become(before));
}

TEST_CASE("more threads than CPUs, or none at all", "[peaks]") {
  PeakSampler many(9, quick());
  many.burst();
  CHECK(many.peaks().front().reason.empty());
  CHECK_THROWS_AS(PeakSampler(0), Error);
  CHECK_THROWS_AS(PeakSampler(-1), Error);
  CHECK_THROWS_AS(PeakSampler(1'000'000), Error);
}

TEST_CASE("buffers beyond the free memory are refused with the reason", "[peaks]") {
  PeakOptions options = quick();
  options.copy_bytes = 1LL << 50;
  PeakSampler sampler(1, options);
  sampler.burst();
  const Peak copy = sampler.peaks().back();
  CHECK(copy.samples.empty());
  CHECK_THAT(copy.reason, Catch::Contains("free memory"));
}

TEST_CASE("too few or scattered samples make no peak", "[peaks]") {
  const std::vector<double> steady = {100, 101, 99, 100, 100, 60};
  CHECK(relative_spread(steady) < 0.02);
  CHECK(peak_doubt(steady).empty());
  CHECK_THAT(peak_doubt(std::vector<double>{100, 100, 100, 100}), Catch::Contains("4 samples"));
  CHECK_THAT(peak_doubt(std::vector<double>{100, 80, 60, 120, 140}), Catch::Contains("spread"));
  CHECK_THAT(peak_doubt(std::vector<double>{0, 0, 0, 0, 0}), Catch::Contains("spread"));
  CHECK_FALSE(peak_doubt({}).empty());
  // By hand: sorted 1..5, p25 = 2, p75 = 4, median = 3.
  CHECK(relative_spread(std::vector<double>{5, 1, 4, 2, 3}) == Approx(2.0 / 3));
}
