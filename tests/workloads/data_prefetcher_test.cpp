// Orders of samples, and work done ahead of its consumer.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "harness/base/error.hpp"
#include "workloads/data/parallel.hpp"
#include "workloads/data/prefetcher.hpp"
#include "workloads/data/sampler.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

void nap(int microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

}  // namespace

TEST_CASE("results come in order, whatever the order they end in", "[data]") {
  for (const int threads : {1, 4}) {
    Prefetcher<std::size_t> prefetcher(200,
                                       [](std::size_t i) {
                                         nap(static_cast<int>((i * 7919) % 5) * 50);
                                         return i;
                                       },
                                       {.threads = threads, .depth = 6});
    for (std::size_t i = 0; i < 200; ++i) CHECK(prefetcher.next() == i);
    CHECK_FALSE(prefetcher.next());
    CHECK_FALSE(prefetcher.next());
  }
}

TEST_CASE("work runs ahead no farther than the depth", "[data]") {
  std::atomic<std::size_t> started = 0;
  Prefetcher<int> prefetcher(100,
                             [&](std::size_t i) {
                               ++started;
                               return static_cast<int>(i);
                             },
                             {.threads = 3, .depth = 5});
  while (prefetcher.waiting() < 5) nap(100);
  nap(2000);
  CHECK(started == 5);
  prefetcher.next();
  while (prefetcher.waiting() < 5) nap(100);
  CHECK(started == 6);
}

TEST_CASE("at rest nothing is in work, and there is room for nothing more", "[data]") {
  std::atomic<int> in_work = 0;
  std::atomic<int> done = 0;
  const auto work = [&](std::size_t) {
    ++in_work;
    nap(2000);
    ++done;
    --in_work;
    return 0;
  };
  Prefetcher<int> prefetcher(100, work, {.threads = 3, .depth = 5});
  prefetcher.rest();
  CHECK(done == 5);
  CHECK(in_work == 0);
  prefetcher.next();
  prefetcher.rest();
  CHECK(done == 6);
  CHECK(in_work == 0);
  done = 0;
  Prefetcher<int> few(2, work, {.threads = 3, .depth = 5});
  few.rest();
  CHECK(done == 2);
  // Whoever waits can be interrupted.
  std::atomic<bool> go_on = false;
  Prefetcher<int> stuck(1,
                        [&](std::size_t) {
                          while (!go_on) nap(100);
                          return 0;
                        },
                        {});
  CHECK_THROWS_AS(stuck.rest([] { throw Interrupted(); }), Interrupted);
  go_on = true;
}

TEST_CASE("waiting results are bounded in bytes, and the next one always has room", "[data]") {
  std::atomic<std::size_t> started = 0;
  Prefetcher<int> prefetcher(
      20,
      [&](std::size_t i) {
        ++started;
        return static_cast<int>(i);
      },
      {.threads = 1, .depth = 100, .bytes = 10}, [](const int&) { return std::size_t{6}; });
  while (prefetcher.waiting() < 2) nap(100);
  nap(2000);
  CHECK(started == 2);
  for (int i = 0; i < 20; ++i) CHECK(prefetcher.next() == i);
}

TEST_CASE("an exception comes at its own place and the rest goes on", "[data]") {
  Prefetcher<int> prefetcher(10,
                             [](std::size_t i) {
                               if (i == 3) throw Error("picture 3", "damaged");
                               return static_cast<int>(i);
                             },
                             {.threads = 4, .depth = 4});
  for (int i = 0; i < 10; ++i) {
    if (i == 3) {
      CHECK_THROWS_WITH(prefetcher.next(), "picture 3: damaged");
    } else {
      CHECK(prefetcher.next() == i);
    }
  }
}

TEST_CASE("a prefetcher ends at any time without running on", "[data]") {
  for (int taken = 0; taken < 20; ++taken) {
    std::atomic<int> running = 0;
    {
      Prefetcher<int> prefetcher(Prefetcher<int>::kEndless,
                                 [&](std::size_t i) {
                                   ++running;
                                   nap(100);
                                   --running;
                                   return static_cast<int>(i);
                                 },
                                 {.threads = 3, .depth = 4});
      for (int i = 0; i < taken; ++i) prefetcher.next();
    }
    CHECK(running == 0);
  }
}

TEST_CASE("waiting for a result can be interrupted, and resumed", "[data]") {
  std::atomic<bool> go = false;
  Prefetcher<int> prefetcher(1,
                             [&](std::size_t) {
                               while (!go) nap(100);
                               return 5;
                             },
                             {.threads = 1, .depth = 1});
  CHECK_THROWS_AS(prefetcher.next([] { throw Interrupted(); }), Interrupted);
  go = true;
  CHECK(prefetcher.next() == 5);
}

TEST_CASE("an epoch's order holds every image once and is frozen", "[data]") {
  std::vector<std::uint32_t> order = epoch_order(8, 1, 0);
  CHECK(order == epoch_order(8, 1, 0));
  CHECK(order != epoch_order(8, 1, 1));
  CHECK(order != epoch_order(8, 2, 0));
  // The same on every platform, or results could not be repeated elsewhere.
  CHECK(order == std::vector<std::uint32_t>{0, 4, 1, 2, 3, 5, 7, 6});
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < 8; ++i) CHECK(order[i] == i);
}

TEST_CASE("training takes whole batches of each epoch", "[data]") {
  const TrainingOrder order(10, 4, 7);
  CHECK(order.samples_per_epoch() == 8);
  CHECK(order.batches_per_epoch() == 2);
  const auto second = epoch_order(10, 7, 1);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(order.at(8 + i).epoch == 1);
    CHECK(order.at(8 + i).image == second[i]);
  }
  CHECK(order.at(3).image == epoch_order(10, 7, 0)[3]);  // going back is allowed
  CHECK(order.at(800).epoch == 100);
  CHECK_THROWS_WITH(TrainingOrder(3, 4, 0), Catch::Contains("3 images do not make one batch of 4"));
}

TEST_CASE("half of the images are mirrored, others in the next epoch", "[data]") {
  int mirrored = 0;
  int changed = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    mirrored += flipped(5, 0, i) ? 1 : 0;
    changed += flipped(5, 0, i) != flipped(5, 1, i) ? 1 : 0;
  }
  CHECK(std::abs(mirrored - 500) < 60);
  CHECK(std::abs(changed - 500) < 60);
}

TEST_CASE("parallel work reports the first failure by place and stops", "[data]") {
  std::atomic<int> done = 0;
  Preparation preparation;
  preparation.threads = 4;
  CHECK_THROWS_WITH(parallel_for(1000, "test", preparation,
                                 [&](std::size_t i) {
                                   if (i == 1) throw Error("piece 1", "failed");
                                   nap(200);
                                   ++done;
                                 }),
                    "piece 1: failed");
  CHECK(done < 100);
  std::vector<std::atomic<int>> seen(100);
  parallel_for(100, "test", preparation, [&](std::size_t i) { ++seen[i]; });
  for (const auto& n : seen) CHECK(n == 1);
  CHECK_NOTHROW(parallel_for(0, "test", preparation, [](std::size_t) {}));
}
