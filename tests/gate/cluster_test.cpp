// One number of each cluster.
#include "harness/gate/cluster.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("what slows both sides of a round cancels", "[gate]") {
  const ClusterRounds rounds = {{1, 2, 9, 4, 1}, {2, 4, 18, 8, 2}};
  CHECK(step_improvement(rounds) == Approx(0.5));
  CHECK(total_improvement(rounds) == Approx(0.5));
}

TEST_CASE("steps that stall now and then show in the total", "[gate]") {
  ClusterRounds rounds{std::vector<double>(10, 1.0), std::vector<double>(10, 1.0)};
  rounds.candidate[3] = rounds.candidate[8] = 2;
  CHECK(step_improvement(rounds) == 1);
  CHECK(total_improvement(rounds) == Approx(1 / 1.2));
}

TEST_CASE("swapping the sides gives the inverse", "[gate]") {
  const ClusterRounds one = {{1, 1.1, 1.3, 0.9}, {1.2, 1.0, 1.1, 1.4}};
  const ClusterRounds other = {one.candidate, one.baseline};
  CHECK(step_improvement(one) * step_improvement(other) == Approx(1));
  CHECK(total_improvement(one) * total_improvement(other) == Approx(1));
}

TEST_CASE("rounds that are none are refused", "[gate]") {
  CHECK_THROWS_AS(step_improvement({{}, {}}), std::invalid_argument);
  CHECK_THROWS_AS(step_improvement({{1, 2}, {1}}), std::invalid_argument);
  CHECK_THROWS_AS(step_improvement({{1, 0}, {1, 1}}), std::invalid_argument);
}
