// Changes of level in a history: none where there are none, and those that were planted.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "harness/stats/change_points.hpp"
#include "harness/stats/rank_sum.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// Logarithms of run times: skewed noise of about `noise`, levels as `levels` say.
std::vector<double> history(std::mt19937& random, const std::vector<std::pair<int, double>>& levels,
                            double noise = 0.01) {
  std::exponential_distribution<double> skewed(1);
  std::vector<double> values;
  for (const auto& [count, level] : levels) {
    for (int i = 0; i < count; ++i) values.push_back(level + noise * skewed(random));
  }
  return values;
}

}  // namespace

TEST_CASE("the rank sum's tail is that of the tables", "[stats]") {
  // Of the 924 ways to place six among twelve 1, 1, 2, 3 and 5 have U = 0, 1, 2, 3, 4.
  const std::vector<double> tail = rank_sum_tail(6, 6, 0.01);
  REQUIRE(tail.size() == 4);
  CHECK(tail[0] == Approx(1.0 / 924));
  CHECK(tail[1] == Approx(2.0 / 924));
  CHECK(tail[2] == Approx(4.0 / 924));
  CHECK(tail[3] == Approx(7.0 / 924));
  CHECK(rank_sum_tail(3, 3, 0.025).empty());
}

TEST_CASE("a history without a change has none, but as rarely as said", "[stats]") {
  std::mt19937 random(11);
  for (const int length : {12, 25, 60}) {
    int alarms = 0;
    const int rounds = 2000;
    const double level = 0.05;
    for (int i = 0; i < rounds; ++i) {
      alarms += change_points(history(random, {{length, 0}}), level).empty() ? 0 : 1;
    }
    CAPTURE(length, alarms);
    // At most the level; four deviations for the luck of the draw.
    CHECK(alarms <= level * rounds + 4 * std::sqrt(level * rounds));
  }
}

TEST_CASE("a planted change is found where it is", "[stats]") {
  std::mt19937 random(5);
  int found = 0;
  int near = 0;
  int covered = 0;
  const int rounds = 500;
  const double shift = std::log(1.05);
  for (int i = 0; i < rounds; ++i) {
    const auto changes = change_points(history(random, {{20, 0}, {15, shift}}), 0.01);
    if (changes.size() != 1) continue;
    ++found;
    near += std::abs(static_cast<int>(changes[0].index) - 20) <= 1 ? 1 : 0;
    covered += *changes[0].shift.low <= shift && shift <= *changes[0].shift.high ? 1 : 0;
  }
  CAPTURE(found, near, covered);
  CHECK(found >= 0.97 * rounds);
  CHECK(near >= 0.9 * found);
  CHECK(covered >= 0.88 * found);
}

TEST_CASE("several changes are told apart", "[stats]") {
  std::mt19937 random(3);
  const auto changes = change_points(history(random, {{15, 0}, {15, 0.2}, {15, 0.05}}), 0.05);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].index == 15);
  CHECK(changes[1].index == 30);
  CHECK(changes[0].shift.center == Approx(0.2).margin(0.02));
  CHECK(changes[1].shift.center == Approx(-0.15).margin(0.02));
}

TEST_CASE("what no change can be told from has none", "[stats]") {
  std::mt19937 random(9);
  CHECK(change_points({}, 0.05).empty());
  CHECK(change_points(history(random, {{5, 0}, {6, 1}}), 0.05).empty());  // eleven values
  CHECK(change_points(std::vector<double>(40, 1.0), 0.05).empty());       // all the same
  // Two values in turn: every split has as many of each.
  std::vector<double> turns;
  for (int i = 0; i < 40; ++i) turns.push_back(i % 2);
  CHECK(change_points(turns, 0.05).empty());
  // Six against six is 2 / 924 at best.
  const auto six = history(random, {{6, 0}, {6, 1}});
  CHECK(change_points(six, 0.05).size() == 1);
  CHECK(change_points(six, 0.002).empty());
}

TEST_CASE("a change too small to matter joins its neighbours", "[stats]") {
  std::mt19937 random(4);
  const auto values = history(random, {{20, 0}, {20, 0.004}, {20, 0.1}}, 0.001);
  CHECK(change_points(values, 0.05).size() == 2);
  const auto changes = change_points(values, 0.05, 0.01);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].index == 40);
  CHECK_THROWS_AS(change_points(values, 0), std::invalid_argument);
  CHECK_THROWS_AS(change_points(values, 0.05, -1), std::invalid_argument);
  CHECK_THROWS_AS(change_points(std::vector<double>(301, 1.0), 0.05), std::invalid_argument);
}
