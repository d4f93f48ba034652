// Changes of level in a history: none where there are none, and those that were planted.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <iterator>
#include <random>
#include <stdexcept>
#include <utility>
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

/// Nights of which each resembles the one before.
std::vector<double> alike(std::mt19937& random, int count, double correlation) {
  std::normal_distribution<double> fresh(0, std::sqrt(1 - correlation * correlation));
  std::vector<double> values = {std::normal_distribution<double>()(random)};
  while (std::ssize(values) < count) {
    values.push_back(correlation * values.back() + fresh(random));
  }
  return values;
}

constexpr double kLevel = 0.05;

// Four deviations for the luck of the draw.
double luck_of(int rounds) { return 4 * std::sqrt(kLevel * (1 - kLevel) * rounds); }
double most_of(int rounds) { return kLevel * rounds + luck_of(rounds); }

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
    for (int i = 0; i < rounds; ++i) {
      alarms += change_points(history(random, {{length, 0}}), kLevel).empty() ? 0 : 1;
    }
    CAPTURE(length, alarms);
    CHECK(alarms <= most_of(rounds));
  }
}

TEST_CASE("nights that resemble each other are no change", "[stats]") {
  std::mt19937 random(17);
  const int rounds = 1000;
  // Those of the recordings in tests/noise lie between 0.83 and 0.87.
  for (const double correlation : {-0.5, 0.3, 0.6, 0.83, 0.87, kHistoryCorrelation}) {
    for (const int length : {12, 17, 30, 75, 150}) {
      int alarms = 0;
      int skewed_alarms = 0;
      for (int i = 0; i < rounds; ++i) {
        const std::vector<double> nights = alike(random, length, correlation);
        alarms += change_points(nights, kLevel).empty() ? 0 : 1;
        std::vector<double> skewed = nights;
        for (double& value : skewed) value = std::exp(value);
        skewed_alarms += change_points(skewed, kLevel).empty() ? 0 : 1;
      }
      CAPTURE(correlation, length, alarms, skewed_alarms);
      CHECK(alarms <= most_of(rounds));
      CHECK(skewed_alarms <= most_of(rounds));
    }
  }
}

TEST_CASE("the bounds on changes are not wider than such noise asks for", "[stats]") {
  std::mt19937 random(23);
  const int rounds = 2000;
  for (const int length : {12, 14, 20, 40, 100, 200}) {
    int alarms = 0;
    for (int i = 0; i < rounds; ++i) {
      const auto nights = alike(random, length, kHistoryCorrelation);
      alarms += change_points(nights, kLevel).empty() ? 0 : 1;
    }
    CAPTURE(length, alarms);
    CHECK(alarms <= most_of(rounds));
    // Parts of a longer history share the level, so that it is not used up.
    CHECK(alarms >= (length < 24 ? 1 : 0.4) * kLevel * rounds - luck_of(rounds));
  }
}

TEST_CASE("a planted change is found where it is", "[stats]") {
  std::mt19937 random(5);
  int found = 0;
  int near = 0;
  int close = 0;
  const int rounds = 500;
  const double shift = std::log(1.05);
  for (int i = 0; i < rounds; ++i) {
    const auto changes = change_points(history(random, {{20, 0}, {15, shift}}), kLevel);
    if (changes.size() != 1) continue;
    ++found;
    near += std::abs(static_cast<int>(changes[0].index) - 20) <= 1 ? 1 : 0;
    close += std::abs(changes[0].shift - shift) < 0.01 ? 1 : 0;
  }
  CAPTURE(found, near, close);
  CHECK(found >= 0.93 * rounds);
  CHECK(near >= 0.9 * found);
  CHECK(close >= 0.9 * found);
}

TEST_CASE("a change is found among nights that resemble each other", "[stats]") {
  std::mt19937 random(29);
  const int rounds = 500;
  for (const auto& [correlation, least_found] : {std::pair{0.3, 0.95}, {0.6, 0.85}}) {
    int found = 0;
    for (int i = 0; i < rounds; ++i) {
      std::vector<double> nights = alike(random, 60, correlation);
      for (std::size_t k = 30; k < nights.size(); ++k) nights[k] += 5;
      const auto changes = change_points(nights, kLevel);
      found += std::any_of(changes.begin(), changes.end(), [](const ChangePoint& change) {
        return std::abs(static_cast<int>(change.index) - 30) <= 2;
      });
    }
    CAPTURE(correlation, found);
    CHECK(found >= least_found * rounds);
  }
}

TEST_CASE("one night far off hides no change and is none", "[stats]") {
  std::mt19937 random(31);
  const int rounds = 300;
  int found = 0;
  int alarms = 0;
  for (int i = 0; i < rounds; ++i) {
    std::vector<double> steady = history(random, {{40, 0}});
    std::vector<double> changed = history(random, {{20, 0}, {20, 0.05}});
    const auto place = static_cast<std::size_t>(3 + i % 12);
    steady[place] += 0.7;
    changed[place] += 0.7;
    alarms += change_points(steady, kLevel).empty() ? 0 : 1;
    found += change_points(changed, kLevel).empty() ? 0 : 1;
  }
  CAPTURE(found, alarms);
  CHECK(alarms <= most_of(rounds));
  CHECK(found >= 0.9 * rounds);
}

TEST_CASE("several changes are told apart", "[stats]") {
  std::mt19937 random(3);
  const auto changes = change_points(history(random, {{15, 0}, {15, 0.2}, {15, 0.05}}), 0.05);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].index == 15);
  CHECK(changes[1].index == 30);
  CHECK(changes[0].shift == Approx(0.2).margin(0.02));
  CHECK(changes[1].shift == Approx(-0.15).margin(0.02));
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
  // Six against six; and an error smaller than any bound is known for.
  const auto six = history(random, {{6, 0}, {6, 1}});
  CHECK(change_points(six, 0.05).size() == 1);
  CHECK(change_points(six, 0.000001).empty());
  // Without any noise the smallest step is one.
  std::vector<double> exact(20, 1.0);
  std::fill(exact.begin() + 10, exact.end(), 1.001);
  REQUIRE(change_points(exact, 0.001).size() == 1);
  CHECK(change_points(exact, 0.001)[0].index == 10);
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
