// How many steps a side needs behind another side's turn.
#include "harness/lockstep/settling.hpp"

#include <catch2/catch.hpp>
#include <set>
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
  // Every third step half as long again, whose phase the laps share: that is no settling.
  CHECK(steps_to_settle({{1.5, 1, 1, 1.5, 1, 1, 1.5, 1, 1, 1.5, 1, 1}}) == 1);
}

TEST_CASE("short steps alone may need settling", "[lockstep]") {
  CHECK(settling_lap(0.0003, 0.02) == 16);
  CHECK(settling_lap(0.02, 0.2) == 8);
  CHECK(settling_lap(0.02, 4) == 0);
  CHECK(settling_lap(0.2, 0.2) == 0);
}

TEST_CASE("settling steps are as many as needed, in no rhythm", "[lockstep]") {
  CHECK(settling_steps(0, 1, 1) == 0);
  // With the one that is timed, in a side that stalls in every fifth step: all phases come.
  std::set<std::int64_t> phases;
  std::set<std::int64_t> counts;
  std::int64_t steps = 0;
  for (std::int64_t round = 1; round <= 20; ++round) {
    const std::int64_t settle = settling_steps(4, 3, round);
    CHECK(settle == settling_steps(4, 3, round));
    counts.insert(settle);
    steps += settle + 1;
    phases.insert(steps % 5);
  }
  CHECK(counts == std::set<std::int64_t>{4, 5, 6});
  CHECK(phases.size() == 5);
}
