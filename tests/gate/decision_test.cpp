// From intervals and pairs to a verdict: each branch of the decision.
#include "harness/gate/decision.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <optional>
#include <vector>

#include "tests/support/gate_pairs.hpp"

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

// n pairs that all point the same way have a probability of 2 / 2^n under chance; that must not be
// above what each attempt and metric has of the error, rounded up to whole blocks of two.
TEST_CASE("so many fresh pairs are the fewest that can confirm", "[gate]") {
  struct Row {
    std::size_t metrics;
    double confidence;
    std::size_t pairs;
  };
  for (const Row& row : {Row{1, 0.95, 8},    // 2^-6 = 0.0156 <= 0.025, 7 in blocks of two
                         Row{2, 0.95, 8},    // 2^-7 = 0.0078 <= 0.0125
                         Row{3, 0.95, 8},    // 0.0078 <= 0.0083
                         Row{4, 0.95, 10},   // 0.0039 <= 0.00625
                         Row{6, 0.95, 10},   // 0.0039 <= 0.0042
                         Row{7, 0.95, 10},   // 2^-9 = 0.0020 <= 0.0036
                         Row{20, 0.95, 12},  // 2^-10 = 0.00098 <= 0.00125
                         Row{1, 0.99, 10}, Row{1, 0.999, 12}, Row{1, 0.5, 6}}) {
    CAPTURE(row.metrics, row.confidence);
    CHECK(fewest_confirming_pairs(row.metrics, {row.confidence, 48}) == row.pairs);
  }
}

TEST_CASE("a clear campaign explores, then confirms with fresh pairs", "[gate]") {
  const PairedMetric same = constant(48, 1.0);
  // Pairs there, pairs wanted next, confirming, finished.
  struct Row {
    std::size_t pairs;
    std::size_t wanted;
    bool confirming;
    bool finished;
  };
  for (const Row& row :
       {Row{0, 6, false, false}, Row{1, 6, false, false}, Row{5, 6, false, false},
        Row{6, 16, true, false}, Row{7, 16, true, false}, Row{15, 16, true, false},
        Row{16, 16, true, true}, Row{17, 16, true, true}, Row{48, 16, true, true}}) {
    CAPTURE(row.pairs);
    const CampaignDecision decision = decided(std::vector{first(same, row.pairs)});
    CHECK(decision.pairs_wanted == row.wanted);
    CHECK(decision.confirming == row.confirming);
    CHECK(decision.finished == row.finished);
    REQUIRE(decision.metrics.size() == 1);
    // Nothing is said before the end, however clear it looks.
    CHECK(decision.metrics[0].verdict == (row.finished ? Verdict::kSame : Verdict::kInconclusive));
  }
  CHECK(decided(std::vector{same}).metrics[0].pairs == 10);  // the fresh ones alone
}

TEST_CASE("verdicts follow the ratio and the metric's direction", "[gate]") {
  struct Row {
    double candidate;
    Verdict of_times;        // lower is better
    Verdict of_throughputs;  // higher is better
  };
  for (const Row& row :
       {Row{1.0, Verdict::kSame, Verdict::kSame}, Row{1.01, Verdict::kSame, Verdict::kSame},
        Row{0.99, Verdict::kSame, Verdict::kSame},
        Row{1.016, Verdict::kRegressed, Verdict::kFaster},
        Row{1.05, Verdict::kRegressed, Verdict::kFaster},
        Row{0.95, Verdict::kFaster, Verdict::kRegressed},
        Row{100, Verdict::kRegressed, Verdict::kFaster},
        Row{0.01, Verdict::kFaster, Verdict::kRegressed}}) {
    CAPTURE(row.candidate);
    PairedMetric metric = constant(48, row.candidate);
    CHECK(campaign({metric}).metrics[0].verdict == row.of_times);
    metric.direction = Direction::kHigher;
    CHECK(campaign({metric}).metrics[0].verdict == row.of_throughputs);
  }
}

TEST_CASE("the improvement is stated as how many times better", "[gate]") {
  PairedMetric metric = constant(48, 1.25);
  CHECK(campaign({metric}).metrics[0].improvement.center == Approx(0.8));
  metric.direction = Direction::kHigher;
  CHECK(campaign({metric}).metrics[0].improvement.center == Approx(1.25));
}

TEST_CASE("units and sizes do not matter", "[gate]") {
  const std::vector<double> seconds = {1.02, 1.07, 1.03, 1.06, 1.04, 1.05, 1.02, 1.08, 1.05,
                                       1.06, 1.03, 1.05, 1.04, 1.06, 1.05, 1.07, 1.03, 1.04};
  const CampaignDecision expected = decided(std::vector{against_one(seconds)});
  REQUIRE(expected.finished);
  CHECK(expected.metrics[0].verdict == Verdict::kRegressed);
  for (const double scale : {1e-300, 1e-9, 3.0, 1e9, 1e300}) {
    CAPTURE(scale);
    PairedMetric metric = against_one(seconds);
    for (double& value : metric.base) value *= scale;
    for (double& value : metric.candidate) value *= scale;
    const CampaignDecision scaled = decided(std::vector{metric});
    CHECK(scaled.metrics[0].verdict == expected.metrics[0].verdict);
    CHECK(scaled.metrics[0].improvement.center ==
          Approx(expected.metrics[0].improvement.center).epsilon(1e-9));
  }
}

TEST_CASE("values that are no measurements are never green", "[gate]") {
  for (const double bad : {kNaN, kInfinity, -kInfinity, 0.0, -1.0}) {
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{7}, std::size_t{15}, std::size_t{47}}) {
      for (const bool in_base : {false, true}) {
        CAPTURE(bad, at, in_base);
        PairedMetric metric = constant(48, 1.0);
        (in_base ? metric.base : metric.candidate)[at] = bad;
        const CampaignDecision decision = decided(std::vector{metric});
        REQUIRE(decision.finished);
        // Behind the last pair that was looked at nobody sees it.
        const bool seen = at < decision.pairs_wanted;
        CHECK(decision.metrics[0].verdict == (seen ? Verdict::kInconclusive : Verdict::kSame));
      }
    }
  }
  PairedMetric all_bad = constant(48, kNaN);
  const CampaignDecision decision = decided(std::vector{all_bad});
  CHECK(decision.finished);
  CHECK(decision.metrics[0].verdict == Verdict::kInconclusive);
}

TEST_CASE("denormal and huge values are judged like others", "[gate]") {
  for (const double unit : {std::numeric_limits<double>::denorm_min() * 1e6, 1e-310, 1e308}) {
    CAPTURE(unit);
    PairedMetric metric = constant(48, 1.0);
    for (double& value : metric.base) value = unit;
    for (double& value : metric.candidate) value = unit / 2;
    CHECK(decided(std::vector{metric}).metrics[0].verdict == Verdict::kFaster);
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
    CHECK(decide_unpaired({six, few, Direction::kLower, 0.015}, 1).pairs == count);
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
