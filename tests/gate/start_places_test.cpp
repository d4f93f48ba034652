#include "harness/gate/start_places.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "harness/lockstep/order.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// The later a side starts, the longer it takes.
std::vector<double> started(std::int64_t cluster, const std::vector<double>& by_side) {
  std::vector<double> seconds = by_side;
  const std::vector<std::size_t> order = balanced_order(cluster, by_side.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    seconds[order[place]] *= 1 + 0.5 * static_cast<double>(place);
  }
  return seconds;
}

}  // namespace

TEST_CASE("what a place costs falls out of the starts", "[gate][lockstep]") {
  for (const std::vector<double>& sides :
       {std::vector<double>{4, 4.8}, std::vector<double>{4, 4.8, 3}}) {
    StartPlaces places;
    const std::int64_t few = rounds_of_balance(sides.size());
    for (std::int64_t cluster = 1; cluster <= 4 * few; ++cluster) {
      CAPTURE(sides.size(), cluster);
      const std::vector<double> told = started(cluster, sides);
      const std::vector<double> rid = places.without(cluster, told);
      if (cluster <= few) {
        CHECK(rid == told);
        continue;
      }
      for (std::size_t side = 1; side < sides.size(); ++side) {
        CHECK(rid[side] / rid[0] == Approx(sides[side] / sides[0]));
      }
    }
  }
}

TEST_CASE("places that cost nothing, or one start out of the way, change nothing",
          "[gate][lockstep]") {
  StartPlaces places;
  for (std::int64_t cluster = 1; cluster <= 12; ++cluster) {
    CAPTURE(cluster);
    // The first start of all is a cold one. Six clusters later the others have outvoted it.
    const std::vector<double> rid = places.without(cluster, {cluster == 1 ? 60.0 : 4.0, 5});
    if (cluster <= 6) continue;
    CHECK(rid[0] == Approx(4));
    CHECK(rid[1] == Approx(5));
  }
}

TEST_CASE("another number of sides begins anew", "[gate][lockstep]") {
  StartPlaces places;
  for (std::int64_t cluster = 1; cluster <= 12; ++cluster) {
    places.without(cluster, started(cluster, {4, 4, 4}));
  }
  // The anchor is gone: the order is another one.
  for (std::int64_t cluster = 13; cluster <= 14; ++cluster) {
    CHECK(places.without(cluster, started(cluster, {4, 4})) == started(cluster, {4, 4}));
  }
  const std::vector<double> rid = places.without(15, started(15, {4, 4}));
  CHECK(rid[0] == Approx(rid[1]));
}
