#include "workloads/retinanet/learning_rate.hpp"

#include <catch2/catch.hpp>

using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

TEST_CASE("the warm-up is linear from a thousandth, then the rate is constant", "[training]") {
  const LearningRate rate{Schedule::kConstant, 1e-4, 100, 0};
  CHECK(rate.at(0) == Approx(1e-7));
  CHECK(rate.at(50) == Approx(1e-4 * 0.5005));
  CHECK(rate.at(99) < 1e-4);
  CHECK(rate.at(100) == 1e-4);
  CHECK(rate.at(1'000'000) == 1e-4);
  CHECK(LearningRate{Schedule::kConstant, 0.5, 0, 0}.at(0) == 0.5);
}

TEST_CASE("the cosine goes from the full rate to zero at the planned end", "[training]") {
  const LearningRate rate{Schedule::kCosine, 1e-3, 100, 1100};
  CHECK(rate.at(100) == 1e-3);
  CHECK(rate.at(600) == Approx(5e-4));
  CHECK(rate.at(350) == Approx(1e-3 * 0.5 * (1 + std::sqrt(0.5))));
  CHECK(rate.at(1100) == Approx(0).margin(1e-12));
  CHECK(rate.at(2000) == Approx(0).margin(1e-12));  // beyond the plan
  // No end is planned, or the warm-up takes all of it.
  CHECK(LearningRate{Schedule::kCosine, 1e-3, 100, 0}.at(500) == 1e-3);
  CHECK(LearningRate{Schedule::kCosine, 1e-3, 100, 50}.at(500) == 1e-3);
}
