// From intervals and clusters to a verdict: each branch of the decision.
#include "harness/gate/decision.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/gate_clusters.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

Interval interval(double low, double high) { return {(low + high) / 2, low, high, 0.95}; }

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("an interval is judged against the margin on both sides", "[gate]") {
  struct Row {
    double low;
    double high;
    double margin;
    Verdict verdict;
  };
  const double worse = 1 / 1.015;
  for (const Row& row : {
           Row{0.999, 1.001, 0.015, Verdict::kSame},
           Row{1, 1, 0.015, Verdict::kSame},
           // The margin itself still counts as within.
           Row{worse, 1.015, 0.015, Verdict::kSame},
           Row{worse, worse, 0.015, Verdict::kSame},
           Row{1.015, 1.015, 0.015, Verdict::kSame},
           // Wholly beyond.
           Row{1.0151, 1.0152, 0.015, Verdict::kFaster},
           Row{1.2, 9, 0.015, Verdict::kFaster},
           Row{0.90, 0.985, 0.015, Verdict::kRegressed},
           Row{0.001, 0.5, 0.015, Verdict::kRegressed},
           // Crossing one margin, or both.
           Row{0.98, 1.0, 0.015, Verdict::kInconclusive},
           Row{1.0, 1.02, 0.015, Verdict::kInconclusive},
           Row{0.98, 1.02, 0.015, Verdict::kInconclusive},
           Row{0.5, worse, 0.015, Verdict::kInconclusive},
           Row{1.015, 2, 0.015, Verdict::kInconclusive},
           // A change that is surely there, but within the margin, is no news.
           Row{1.002, 1.004, 0.015, Verdict::kSame},
           Row{0.996, 0.998, 0.015, Verdict::kSame},
           // Other margins.
           Row{0.96, 0.97, 0.05, Verdict::kSame},
           Row{0.94, 0.95, 0.05, Verdict::kRegressed},
           Row{1.06, 1.07, 0.05, Verdict::kFaster},
           Row{0.999, 1.001, 0.0001, Verdict::kInconclusive},
       }) {
    CAPTURE(row.low, row.high, row.margin);
    CHECK(judge(interval(row.low, row.high), row.margin) == row.verdict);
  }
}

TEST_CASE("what is a regression one way is an improvement the other way", "[gate]") {
  for (const double low : {0.5, 0.9, 0.97, 0.98, 0.99, 1.0, 1.01, 1.02}) {
    for (const double width : {1.0, 1.005, 1.02, 1.2}) {
      const double high = low * width;
      CAPTURE(low, high);
      const Verdict verdict = judge(interval(low, high), 0.0151);
      const Verdict mirrored = judge(interval(1 / high, 1 / low), 0.0151);
      if (verdict == Verdict::kFaster) CHECK(mirrored == Verdict::kRegressed);
      if (verdict == Verdict::kRegressed) CHECK(mirrored == Verdict::kFaster);
      if (verdict == Verdict::kSame) CHECK(mirrored == Verdict::kSame);
      if (verdict == Verdict::kInconclusive) CHECK(mirrored == Verdict::kInconclusive);
    }
  }
}

TEST_CASE("without bounds there is no verdict", "[gate]") {
  CHECK(judge({1, std::nullopt, std::nullopt, 0}, 0.015) == Verdict::kInconclusive);
  CHECK(judge({0.5, 0.4, std::nullopt, 0.95}, 0.015) == Verdict::kInconclusive);
  CHECK(judge({0.5, std::nullopt, 0.6, 0.95}, 0.015) == Verdict::kInconclusive);
}

TEST_CASE("verdicts follow the improvement", "[gate]") {
  for (const auto& [improvement, verdict] :
       {std::pair(1.0, Verdict::kSame), std::pair(1.01, Verdict::kSame),
        std::pair(0.99, Verdict::kSame), std::pair(1.015, Verdict::kSame),
        std::pair(1 / 1.015, Verdict::kSame), std::pair(1.016, Verdict::kFaster),
        std::pair(0.98, Verdict::kRegressed), std::pair(100.0, Verdict::kFaster),
        std::pair(0.01, Verdict::kRegressed)}) {
    CAPTURE(improvement);
    const CampaignDecision decision = campaign({constant(48, improvement)});
    CHECK(decision.finished);
    CHECK(decision.metrics[0].verdict == verdict);
    CHECK(decision.metrics[0].improvement.center == Approx(improvement));
    CHECK(*decision.metrics[0].improvement.low == improvement);
    CHECK(*decision.metrics[0].same.high == improvement);
  }
}

TEST_CASE("each metric has its own margin", "[gate]") {
  const CampaignDecision decision =
      campaign({constant(48, 0.95), constant(48, 0.95, 0.10), constant(48, 1.05)});
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
  CHECK(decision.metrics[1].verdict == Verdict::kSame);
  CHECK(decision.metrics[2].verdict == Verdict::kFaster);
}

TEST_CASE("values that are no measurements are never green", "[gate]") {
  for (const double bad : {kNaN, kInfinity, -kInfinity, 0.0, -1.0}) {
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{7}, std::size_t{23}, std::size_t{24}, std::size_t{47}}) {
      for (const bool exact : {false, true}) {
        CAPTURE(bad, at, exact);
        // The other metric is clear in the end only, so that all is looked at.
        ClusterMetric late = stretches({{24, 1.0}, {24, 0.9}});
        for (std::size_t i = 0; i < 24; i += 2) late.improvements[i] = 0.9;
        ClusterMetric metric = constant(48, 1.0);
        metric.exact = exact;
        metric.improvements[at] = bad;
        const CampaignDecision decision = decided({metric, late});
        REQUIRE(decision.finished);
        const bool seen = at < decision.clusters;
        CHECK(decision.metrics[0].verdict == (seen ? Verdict::kInconclusive : Verdict::kSame));
        CHECK(decision.metrics[1].verdict == Verdict::kRegressed);
      }
    }
  }
}

TEST_CASE("denormal and huge improvements are judged like others", "[gate]") {
  const double smallest = std::numeric_limits<double>::denorm_min();
  for (const double tiny : {smallest, 1e-310, 1e-150}) {
    CHECK(decided({constant(48, tiny)}).metrics[0].verdict == Verdict::kRegressed);
    CHECK(decided({constant(48, tiny)}).metrics[0].improvement.center > 0);
  }
  for (const double huge : {1e150, 1e308, std::numeric_limits<double>::max()}) {
    CHECK(decided({constant(48, huge)}).metrics[0].verdict == Verdict::kFaster);
    CHECK(std::isfinite(decided({constant(48, huge)}).metrics[0].improvement.center));
  }
}

TEST_CASE("an exact metric is compared as it is, and takes none of the error", "[gate]") {
  ClusterMetric memory = constant(48, 1.0, 0.02);
  memory.exact = true;
  const auto verdict = [&](double improvement) {
    ClusterMetric changed = memory;
    for (double& value : changed.improvements) value = improvement;
    return decided({changed}).metrics[0].verdict;
  };
  CHECK(verdict(1) == Verdict::kSame);
  CHECK(verdict(1 / 1.0199) == Verdict::kSame);
  CHECK(verdict(1 / 1.0201) == Verdict::kRegressed);
  CHECK(verdict(1.0201) == Verdict::kFaster);
  // Bytes that differ a little are the same, and an interval from the least to the most.
  ClusterMetric nearly = memory;
  nearly.improvements[3] = 1.001;
  CHECK(decided({nearly}).metrics[0].verdict == Verdict::kSame);
  CHECK(*decided({nearly}).metrics[0].improvement.high == 1.001);
  // One cluster beyond the margin is neither chance nor clear.
  nearly.improvements[3] = 0.9;
  CHECK(decided({nearly}).metrics[0].verdict == Verdict::kInconclusive);
  // The interval of another metric is what it is alone.
  const ClusterMetric time = drawn(48, 1.0, [n = 0]() mutable { return 0.001 * (++n % 7 - 3); });
  const Interval alone = decided({time}).metrics[0].improvement;
  const Interval beside = decided({time, memory}).metrics[0].improvement;
  const Interval of_two = decided({time, time}).metrics[0].improvement;
  CHECK(alone.low == beside.low);
  CHECK(alone.confidence == beside.confidence);
  CHECK(*of_two.low <= *alone.low);
  CHECK(of_two.confidence > alone.confidence);
}

TEST_CASE("units of one night and the order of metrics do not matter", "[gate]") {
  std::vector<ClusterMetric> metrics = {constant(48, 0.95), constant(48, 1.0), constant(48, 1.2)};
  const CampaignDecision one = decided(metrics);
  std::swap(metrics[0], metrics[2]);
  const CampaignDecision other = decided(metrics);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    CHECK(one.metrics[i].verdict == other.metrics[2 - i].verdict);
    CHECK(one.metrics[i].improvement.low == other.metrics[2 - i].improvement.low);
  }
}

TEST_CASE("unpaired series need six a side", "[gate][unpaired]") {
  const std::vector<double> six = {1.00, 1.01, 1.02, 1.03, 1.04, 1.05};
  const std::vector<double> slow = {1.20, 1.21, 1.22, 1.23, 1.24, 1.25};
  CHECK(decide_unpaired({six, slow, Direction::kLower, 0.015}, 1).verdict == Verdict::kRegressed);
  CHECK(decide_unpaired({slow, six, Direction::kLower, 0.015}, 1).verdict == Verdict::kFaster);
  CHECK(decide_unpaired({six, slow, Direction::kHigher, 0.015}, 1).verdict == Verdict::kFaster);
  for (std::size_t count = 0; count < 6; ++count) {
    CAPTURE(count);
    const std::vector<double> few(slow.begin(), slow.begin() + static_cast<std::ptrdiff_t>(count));
    CHECK(decide_unpaired({six, few, Direction::kLower, 0.015}, 1).verdict ==
          Verdict::kInconclusive);
    CHECK(decide_unpaired({few, six, Direction::kLower, 0.015}, 1).verdict ==
          Verdict::kInconclusive);
    CHECK(decide_unpaired({six, few, Direction::kLower, 0.015}, 1).clusters == count);
  }
}

TEST_CASE("unpaired series are the same only when their spread is small", "[gate][unpaired]") {
  const std::vector<double> tight = {1.000, 1.001, 1.002, 1.003, 1.004, 1.005};
  const std::vector<double> also = {1.0005, 1.0015, 1.0025, 1.0035, 1.0045, 1.0055};
  const std::vector<double> wide = {0.90, 0.95, 1.00, 1.05, 1.10, 1.15};
  CHECK(decide_unpaired({tight, also, Direction::kLower, 0.015}, 1).verdict == Verdict::kSame);
  CHECK(decide_unpaired({wide, tight, Direction::kLower, 0.015}, 1).verdict ==
        Verdict::kInconclusive);
  CHECK(decide_unpaired({wide, tight, Direction::kLower, 0.5}, 1).verdict == Verdict::kSame);
}

TEST_CASE("unpaired metrics share the confidence", "[gate][unpaired]") {
  const std::vector<double> before = {1.00, 1.01, 1.02, 1.03, 1.04, 1.05};
  const std::vector<double> now = {1.03, 1.05, 1.07, 1.09, 1.11, 1.13};
  const Interval alone = decide_unpaired({before, now, Direction::kLower, 0.015}, 1).improvement;
  const Interval of_ten = decide_unpaired({before, now, Direction::kLower, 0.015}, 10).improvement;
  CHECK(alone.confidence >= 0.95);
  CHECK(of_ten.confidence >= 0.995);
  CHECK(*of_ten.low < *alone.low);
  CHECK(*of_ten.high > *alone.high);
  CHECK(alone.center == of_ten.center);
  // Six a side can be sure to 1 - 2 / 924 at the most.
  const MetricDecision of_hundred = decide_unpaired({before, now, Direction::kLower, 0.015}, 100);
  CHECK_FALSE(of_hundred.improvement.low);
  CHECK(of_hundred.verdict == Verdict::kInconclusive);
}

TEST_CASE("unpaired values that are no measurements are never green", "[gate][unpaired]") {
  const std::vector<double> good = {1, 1, 1, 1, 1, 1, 1};
  for (const double bad : {kNaN, kInfinity, 0.0, -1.0}) {
    std::vector<double> spoilt = good;
    spoilt[3] = bad;
    CHECK(decide_unpaired({good, spoilt, Direction::kLower, 0.015}, 1).verdict ==
          Verdict::kInconclusive);
    CHECK(decide_unpaired({spoilt, good, Direction::kLower, 0.015}, 1).verdict ==
          Verdict::kInconclusive);
  }
}
