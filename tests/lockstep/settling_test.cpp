// How many steps a side needs behind another side's turn.
#include "harness/lockstep/settling.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("steps count as settled from the first that is as fast as the late ones", "[lockstep]") {
  // Measured: focal loss of 200x200x264, custom kernels behind a turn of the reference.
  const std::vector<double> measured = {2.52, 1.35, 1.10, 1.02, 1.00, 1.00, 1.01, 1.00};
  CHECK(steps_to_settle({measured}) == 3);
  CHECK(steps_to_settle({{1, 1, 1, 1}}) == 0);
  CHECK(steps_to_settle({{1.02, 1}}) == 0);
  CHECK(steps_to_settle({{1.04, 1}}) == 1);
  // Half of a lap at most, and a first step that is faster settles nothing.
  CHECK(steps_to_settle({{9, 8, 7, 6, 5, 4, 3, 2}}) == 4);
  CHECK(steps_to_settle({{0.5, 2, 1, 1}}) == 0);
}

TEST_CASE("a disturbed lap does not count as one that must settle", "[lockstep]") {
  const std::vector<double> quiet = {1.5, 1, 1, 1, 1, 1};
  const std::vector<double> hit = {1.5, 4, 4, 1, 1, 1};
  CHECK(steps_to_settle({quiet, hit, quiet}) == 1);
  CHECK(steps_to_settle({quiet, hit, hit}) == 3);
  // A side that is slow in every third step looks as if its first one had to settle, no more.
  CHECK(steps_to_settle({{1.5, 1, 1, 1.5, 1, 1, 1.5, 1, 1, 1.5, 1, 1}}) == 1);
}

TEST_CASE("short steps alone may need settling", "[lockstep]") {
  CHECK(settling_lap(0.0003, 0.02) == 16);
  CHECK(settling_lap(0.02, 0.2) == 8);
  CHECK(settling_lap(0.02, 4) == 0);
  CHECK(settling_lap(0.2, 0.2) == 0);
}

TEST_CASE("a step that is slow in a rhythm is timed as often as any other", "[lockstep]") {
  CHECK(settling_steps(0, 8, 1, 1) == 0);
  for (const std::int64_t needed : {1, 8}) {
    for (const std::int64_t steps : {1, 8}) {
      for (const std::int64_t period : {5, 13, 17, 100}) {
        std::int64_t all = 0;
        std::int64_t slow = 0;
        std::int64_t timed = 0;
        std::int64_t timed_slow = 0;
        for (std::int64_t cluster = 1; cluster <= 512; ++cluster) {
          std::int64_t step = 83;  // warm-up and measuring, the same in each
          for (std::int64_t round = 1; round <= 20; ++round) {
            const std::int64_t settle = settling_steps(needed, steps, cluster, round);
            const std::int64_t most = needed + (round == 1 ? 4 : 1) * (needed + steps);
            REQUIRE((settle >= needed && settle < most));
            for (std::int64_t i = 0; i < settle + steps; ++i) {
              const bool is_slow = ++step % period == 0;
              ++all;
              slow += is_slow ? 1 : 0;
              if (i < settle) continue;
              ++timed;
              timed_slow += is_slow ? 1 : 0;
            }
          }
        }
        CAPTURE(needed, steps, period);
        const double share = static_cast<double>(slow) / static_cast<double>(all);
        const double timed_share = static_cast<double>(timed_slow) / static_cast<double>(timed);
        CHECK(timed_share / share == Approx(1).margin(0.3));
      }
    }
  }
}
