// Looks and budgets of campaigns.
#include "harness/gate/plan.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

std::vector<std::size_t> sizes(const GatePlan& plan) {
  std::vector<std::size_t> list;
  for (const GateLook& look : looks_of(plan)) list.push_back(look.clusters);
  return list;
}

std::vector<double> shares(const GatePlan& plan) {
  std::vector<double> list;
  for (const GateLook& look : looks_of(plan)) list.push_back(look.share);
  return list;
}

GatePlan one(std::size_t clusters, std::size_t block = 2) {
  return {{Night{clusters, std::nullopt}}, block, false};
}

using Sizes = std::vector<std::size_t>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a night is looked at four times, in whole blocks", "[gate][plan]") {
  CHECK(sizes(one(96)) == Sizes{24, 48, 72, 96});
  CHECK(sizes(one(40)) == Sizes{10, 20, 30, 40});
  CHECK(sizes(one(18)) == Sizes{6, 10, 14, 18});
  CHECK(sizes(one(19)) == Sizes{6, 10, 14, 18});
  CHECK(sizes(one(19, 1)) == Sizes{5, 10, 15, 19});
  CHECK(sizes(one(24, 6)) == Sizes{6, 12, 18, 24});
  CHECK(shares(one(96)) == std::vector<double>{0.02, 0.16, 0.44, 1.0});
}

TEST_CASE("looks that fall together are one, with the share of all", "[gate][plan]") {
  CHECK(sizes(one(4)) == Sizes{2, 4});
  CHECK(shares(one(4)) == std::vector<double>{0.16, 1.0});
  CHECK(sizes(one(2)) == Sizes{2});
  CHECK(shares(one(2)) == std::vector<double>{1.0});
  CHECK(sizes(one(1)).empty());
  CHECK(sizes(one(1, 1)) == Sizes{1});
  CHECK(sizes(one(0)).empty());
}

TEST_CASE("a night that ended early is looked at in the end, with all that is left",
          "[gate][plan]") {
  GatePlan plan = one(96);
  plan.nights[0].ended = 60;
  CHECK(sizes(plan) == Sizes{24, 48, 60});
  CHECK(shares(plan) == std::vector<double>{0.02, 0.16, 1.0});
  plan.nights[0].ended = 49;
  CHECK(sizes(plan) == Sizes{24, 48});
  CHECK(shares(plan) == std::vector<double>{0.02, 1.0});
  plan.nights[0].ended = 10;
  CHECK(sizes(plan) == Sizes{10});
  plan.nights[0].ended = 0;
  CHECK(sizes(plan).empty());
  plan.nights[0].ended = 97;
  CHECK_THROWS_AS(looks_of(plan), std::invalid_argument);
}

TEST_CASE("nights that pool share the error", "[gate][plan]") {
  GatePlan plan{{Night{16, {}}, Night{8, {}}, Night{16, {}}}, 2, true};
  CHECK(sizes(plan) == Sizes{4, 8, 12, 16, 18, 20, 22, 24, 28, 32, 36, 40});
  const std::vector<double> spent = shares(plan);
  CHECK(spent[0] == Approx(0.02 * 0.75));
  CHECK(spent[3] == Approx(0.75));
  CHECK(spent[4] == Approx(0.75 + 0.02 * 0.1875));
  CHECK(spent[7] == Approx(0.9375));
  CHECK(spent[11] == Approx(0.984375));
  for (std::size_t i = 1; i < spent.size(); ++i) CHECK(spent[i] > spent[i - 1]);
  // However many nights there are, all of them together stay below the whole.
  plan.nights.assign(50, Night{4, {}});
  CHECK(shares(plan).back() <= 1);
  // The next night goes on where the last one ended, in whole blocks.
  plan.nights = {Night{16, 9}, Night{8, {}}};
  CHECK(sizes(plan) == Sizes{4, 8, 10, 12, 14, 16});
}

TEST_CASE("plans that are none are refused", "[gate][plan]") {
  CHECK_THROWS_AS(looks_of({{}, 2, false}), std::invalid_argument);
  CHECK_THROWS_AS(looks_of(one(8, 0)), std::invalid_argument);
  CHECK_THROWS_AS(looks_of({{Night{}, Night{}}, 2, false}), std::invalid_argument);
}

TEST_CASE("a budget buys clusters first, then rounds", "[gate][plan]") {
  // Cheap rounds: as many as are of use, and no more clusters than asked for.
  const ClusterPlan cheap = plan_clusters(3600, {1, 0.001}, 16, 96, 1);
  CHECK(cheap.clusters == 96);
  CHECK(cheap.rounds == 20);
  CHECK(cheap.seconds == Approx(96 * 2.02));
  // Dear ones: as few as there may be.
  const ClusterPlan dear = plan_clusters(3600, {10, 10}, 16, 96, 1);
  CHECK(dear.rounds == 5);
  CHECK(dear.clusters == 51);
  CHECK(dear.seconds == Approx(51 * 70));
  const ClusterPlan dearest = plan_clusters(3600, {10, 40}, 16, 96, 1);
  CHECK(dearest.rounds == 3);
  CHECK(dearest.clusters == 25);
  // In between: the most rounds that leave 46 clusters.
  const ClusterPlan between = plan_clusters(46 * 80, {10, 4}, 16, 96, 1);
  CHECK(between.rounds == 15);
  CHECK(between.clusters == 46);
  // Three sides start three times.
  CHECK(plan_clusters(3600, {10, 40, 3}, 16, 96, 1).clusters == 24);
}

TEST_CASE("a plan never costs more than its budget", "[gate][plan]") {
  for (double budget = 1; budget < 2e5; budget *= 1.7) {
    for (const double start : {0.0, 0.2, 7.0, 60.0}) {
      for (const double round : {0.01, 0.5, 12.0}) {
        for (const std::size_t block : {std::size_t{1}, std::size_t{2}}) {
          const ClusterPlan plan = plan_clusters(budget, {start, round}, 16, 96, block);
          CAPTURE(budget, start, round, block);
          CHECK(plan.clusters % block == 0);
          CHECK(plan.clusters <= 96);
          CHECK((plan.rounds >= 3 && plan.rounds <= 20));
          if (plan.clusters == 0) {
            CHECK(plan.rounds == 3);
            CHECK(plan.seconds > budget);
            // What it says it would take is enough, and hardly less is not.
            CHECK(plan_clusters(plan.seconds * 1.0001, {start, round}, 16, 96, block).clusters ==
                  16);
            CHECK(plan_clusters(plan.seconds * 0.999, {start, round}, 16, 96, block).clusters == 0);
          } else {
            CHECK(plan.seconds <= budget * (1 + 1e-12));
            CHECK(plan.clusters >= 16);
          }
        }
      }
    }
  }
}

TEST_CASE("whole commands are clusters of one round", "[gate][plan]") {
  const ClusterPlan plan = plan_clusters(600, {7, 0, 1, 1, 1}, 16, 96, 2);
  CHECK(plan.clusters == 84);
  CHECK(plan.rounds == 1);
  CHECK(plan_clusters(100, {7, 0, 1, 1, 1}, 16, 96, 2).clusters == 0);
  CHECK(plan_clusters(100, {7, 0, 1, 1, 1}, 16, 96, 2).seconds == Approx(112));
  // An odd number is rounded up to what can be looked at.
  CHECK(plan_clusters(100, {7, 0, 1, 1, 1}, 17, 96, 2).seconds == Approx(126));
}

TEST_CASE("costs and budgets that are no numbers are refused", "[gate][plan]") {
  for (const double bad : {kNaN, kInfinity, -1.0}) {
    CHECK_THROWS_AS(plan_clusters(100, {bad, 1}, 16, 96, 1), std::invalid_argument);
    CHECK_THROWS_AS(plan_clusters(100, {1, bad}, 16, 96, 1), std::invalid_argument);
  }
  CHECK_THROWS_AS(plan_clusters(kNaN, {1, 1}, 16, 96, 1), std::invalid_argument);
  CHECK_THROWS_AS(plan_clusters(kInfinity, {1, 1}, 16, 96, 1), std::invalid_argument);
  CHECK_THROWS_AS(plan_clusters(100, {0, 0}, 16, 96, 1), std::invalid_argument);
  CHECK_THROWS_AS(plan_clusters(100, {1, 1}, 16, 96, 0), std::invalid_argument);
  CHECK_THROWS_AS(plan_clusters(100, {1, 1, 2, 5, 4}, 16, 96, 1), std::invalid_argument);
  // A budget of nothing is a budget.
  CHECK(plan_clusters(0, {1, 1}, 16, 96, 1).clusters == 0);
  CHECK(plan_clusters(-5, {1, 1}, 16, 96, 1).clusters == 0);
  CHECK(plan_clusters(1e300, {1e-300, 0}, 16, 96, 1).clusters == 96);
}
