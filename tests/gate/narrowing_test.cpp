// How a campaign narrowed, cluster by cluster.
#include "harness/gate/narrowing.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "tests/support/gate_clusters.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("each step of a funnel is of the first clusters alone", "[gate][narrowing]") {
  std::vector<double> improvements = {1.01, 0.99, 1.02, 0.98, 1.00, 1.03, 0.97, 5};
  const std::vector<NarrowingStep> steps = narrowing(improvements, false);
  REQUIRE(steps.size() == 8);
  CHECK(steps[0].n == 1);
  CHECK(steps[0].improvement.center == Approx(1.01));
  CHECK_FALSE(steps[4].improvement.low);
  // Six are the fewest for 95 %: from the least of them to the greatest.
  CHECK(steps[5].improvement.low == Approx(0.98));
  CHECK(steps[5].improvement.high == Approx(1.03));
  // What comes later changes nothing before it.
  improvements.back() = 0.2;
  CHECK(narrowing(improvements, false)[6].improvement.high == steps[6].improvement.high);
  CHECK(narrowing(improvements, true)[2].improvement.low == Approx(0.99));
  CHECK(narrowing(improvements, true)[2].improvement.high == Approx(1.02));
  CHECK(narrowing({}, false).empty());
}

TEST_CASE("a long funnel has fewer steps and ends with all clusters", "[gate][narrowing]") {
  const std::vector<double> improvements(1003, 1.0);
  const std::vector<NarrowingStep> steps = narrowing(improvements, false, 100);
  CHECK(steps.size() <= 100);
  CHECK(steps.size() > 80);
  CHECK(steps.back().n == 1003);
  for (std::size_t i = 1; i < steps.size(); ++i) CHECK(steps[i].n > steps[i - 1].n);
}

TEST_CASE("improvements are drawn up to what is none", "[gate][narrowing]") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  CHECK(until_unusable({1, 2, none, 3}) == std::vector<double>{1, 2});
  CHECK(until_unusable({0, 1}).empty());
  CHECK(until_unusable({1, HUGE_VAL}) == std::vector<double>{1});
}

TEST_CASE("the looks taken are those of the decision", "[gate][narrowing]") {
  // Slow for good: clear at a look before the last. The other stays open until the end.
  const std::vector<ClusterMetric> metrics = {constant(48, 0.9), torn(48)};
  const auto looks = looks_taken(metrics, kFortyEight, {});
  REQUIRE(looks.size() == 2);
  REQUIRE(looks[1].size() == 4);
  CHECK(looks[1].back().n == 48);
  CHECK(looks[1].back().verdict == Verdict::kInconclusive);
  REQUIRE(!looks[0].empty());
  CHECK(looks[0].size() < 4);
  CHECK(looks[0].back().verdict == Verdict::kRegressed);
  for (const RowLook& look : looks[0]) {
    const MetricDecision found = decided(first(metrics, look.n)).metrics[0];
    CHECK(found.improvement.low == look.improvement.low);
    CHECK(found.verdict == look.verdict);
  }
  // Clusters that no look has reached yet have none.
  CHECK(looks_taken(first(metrics, 11), kFortyEight, {})[0].empty());
}
