// Counts that are too many for chance.
#include "harness/stats/fisher.hpp"

#include <catch2/catch.hpp>

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("the chance of an excess is exact", "[stats]") {
  // Four misses of five against none: of the 210 ways to deal four to ten, five.
  CHECK(excess_by_chance({0, 5}, {4, 5}) == Approx(5.0 / 210));
  CHECK(excess_by_chance({0, 6}, {6, 6}) == Approx(1.0 / 924));
  // One miss in 96 happens.
  CHECK(excess_by_chance({0, 96}, {1, 96}) == Approx(0.5));
  CHECK(excess_by_chance({0, 4}, {0, 4}) == Approx(1.0));
  CHECK(excess_by_chance({3, 4}, {0, 4}) == Approx(1.0));
  CHECK(excess_by_chance({4, 4}, {4, 4}) == Approx(1.0));
  // More events than the first side has trials for.
  CHECK(excess_by_chance({2, 2}, {3, 6}) == Approx(1.0));
  // As unlikely as the numbers allow, and no rounding beyond 1.
  CHECK(excess_by_chance({0, 3000}, {3000, 3000}) < 1e-300);
  CHECK(excess_by_chance({1500, 3000}, {1500, 3000}) <= 1);
}
