#include "kernels/runtime/memory_pool.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

using harness::kernels::MemoryPool;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Held {
  unsigned char* data;
  std::size_t size;
  unsigned char mark;
};

bool intact(const Held& held) {
  return std::all_of(held.data, held.data + held.size,
                     [&](unsigned char byte) { return byte == held.mark; });
}

// Takes and gives back blocks at random; true when no block was ever written by another.
bool survive(MemoryPool& pool, unsigned seed, int rounds) {
  std::mt19937 random(seed);
  std::vector<Held> held;
  bool good = true;
  for (int round = 0; round < rounds; ++round) {
    if (held.size() < 20 && random() % 3 != 0) {
      const std::size_t size = 1 + random() % (300 << 10);
      auto* data = static_cast<unsigned char*>(pool.allocate(size));
      if (data == nullptr) continue;
      const auto mark = static_cast<unsigned char>(random());
      std::memset(data, mark, size);
      held.push_back({data, size, mark});
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      good = good && intact(held.back());
      pool.release(held.back().data);
      held.pop_back();
    }
  }
  for (const Held& block : held) {
    good = good && intact(block);
    pool.release(block.data);
  }
  return good;
}

long minor_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace

TEST_CASE("blocks of the pool are aligned, apart, and merge when they come back", "[pool]") {
  MemoryPool pool(64 * kMiB);
  REQUIRE(pool.capacity() == 64 * kMiB);
  void* first = pool.allocate(1);
  void* second = pool.allocate(5000);
  void* third = pool.allocate(16 * kMiB);
  for (const void* block : {first, second, third}) {
    CHECK(reinterpret_cast<std::uintptr_t>(block) % MemoryPool::kAlignment == 0);
    CHECK(pool.owns(block));
  }
  CHECK(pool.size_of(first) == MemoryPool::kAlignment);
  CHECK(pool.size_of(second) == 5120);
  CHECK(pool.high_water_bytes() == MemoryPool::kAlignment + 5120 + 16 * kMiB);
  const int outside = 0;
  CHECK_FALSE(pool.owns(&outside));
  CHECK(pool.allocate(60 * kMiB) == nullptr);
  CHECK(pool.allocate(1000 * kMiB) == nullptr);
  pool.release(first);
  pool.release(third);
  pool.release(second);  // the middle one last: it joins both sides
  void* everything = pool.allocate(64 * kMiB);
  CHECK(everything != nullptr);
  CHECK_THROWS_AS(pool.release(second), std::logic_error);
  pool.release(everything);
  CHECK_THROWS_AS(pool.release(everything), std::logic_error);
}

TEST_CASE("the smallest free block that fits is taken, at the lowest address", "[pool]") {
  MemoryPool pool(64 * kMiB);
  std::vector<void*> blocks;
  for (const std::size_t size : {4, 1, 2, 1, 4, 1}) blocks.push_back(pool.allocate(size * kMiB));
  pool.release(blocks[0]);
  pool.release(blocks[2]);
  pool.release(blocks[4]);
  CHECK(pool.allocate(2 * kMiB) == blocks[2]);
  CHECK(pool.allocate(3 * kMiB) == blocks[0]);
  CHECK(pool.allocate(kMiB) == static_cast<char*>(blocks[0]) + 3 * kMiB);
}

TEST_CASE("random use from several threads never hands out the same byte twice", "[pool]") {
  MemoryPool pool(64 * kMiB);
  bool good[3] = {};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] { good[i] = survive(pool, i, 1500); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK((good[0] && good[1] && good[2]));
  void* everything = pool.allocate(64 * kMiB);
  CHECK(everything != nullptr);
}

TEST_CASE("memory that was used once is used again without a page fault, until trimmed", "[pool]") {
  MemoryPool pool(128 * kMiB);
  const auto faults_of_use = [&] {
    auto* data = static_cast<volatile char*>(pool.allocate(64 * kMiB));
    const long before = minor_faults();
    for (std::size_t i = 0; i < 64 * kMiB; i += 4096) data[i] = 1;
    const long after = minor_faults();
    pool.release(const_cast<char*>(data));
    return after - before;
  };
  const long first = faults_of_use();
  CHECK(first >= 32);  // huge pages at best
  CHECK(faults_of_use() < 8);
  void* kept = pool.allocate(kMiB);
  std::memset(kept, 7, kMiB);
  pool.trim();
  CHECK(pool.high_water_bytes() == kMiB);
  CHECK(static_cast<unsigned char*>(kept)[kMiB - 1] == 7);
  CHECK(faults_of_use() >= 31);
}

TEST_CASE("a range that the system refuses gives an empty pool", "[pool]") {
  const MemoryPool none(0);
  CHECK(none.capacity() == 0);
  CHECK_FALSE(none.owns(nullptr));
  MemoryPool absurd(~std::size_t{0} / 2);  // more addresses than there are: takes what it gets
  CHECK(absurd.capacity() > 0);
  CHECK(absurd.allocate(kMiB) != nullptr);
}
