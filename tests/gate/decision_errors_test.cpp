// Both errors of the decision, over all its looks: computed from all sequences of clusters where
// there are few, drawn where there are many.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "harness/gate/decision.hpp"
#include "tests/support/gate_clusters.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

constexpr double kBeyond = 1 / 1.0151;  // hardly worse than the margin
constexpr double kWithin = 1.0;

bool regressed(const MetricDecision& metric) { return metric.verdict == Verdict::kRegressed; }
bool faster(const MetricDecision& metric) { return metric.verdict == Verdict::kFaster; }
bool alarmed(const MetricDecision& metric) { return regressed(metric) || faster(metric); }
bool same(const MetricDecision& metric) { return metric.verdict == Verdict::kSame; }

std::vector<GatePlan> plans() {
  return {nights({12}, 1),
          nights({12}, 2),
          nights({11}, 3),
          nights({6, 6}, 1, true),
          nights({4, 4, 4}, 2, true),
          GatePlan{{Night{40, 11}}, 1, false}};
}

/// Clusters of the plan, at most a dozen.
GatePlan counted(GatePlan plan) {
  for (Night& night : plan.nights) night.clusters = night.ended.value_or(night.clusters);
  return plan;
}

}  // namespace

TEST_CASE("a median at the margin hardly ever raises an alarm", "[gate][errors][long]") {
  for (const GatePlan& plan : plans()) {
    for (const double alarm : {0.6, 0.2, 0.05}) {
      const double worse = probability_of({{kBeyond, 0.5}, {kWithin, 0.5}}, counted(plan),
                                          {alarm, 0.05, 96}, regressed);
      const double better = probability_of({{1 / kBeyond, 0.5}, {kWithin, 0.5}}, counted(plan),
                                           {alarm, 0.05, 96}, faster);
      CAPTURE(alarm, worse);
      // One of three tests.
      CHECK(worse <= alarm / 3 * (1 + 1e-9));
      CHECK(better == Approx(worse));
      if (alarm > 0.5) CHECK(worse > alarm / 12);
    }
  }
}

TEST_CASE("an unchanged program in any noise hardly ever raises an alarm", "[gate][errors]") {
  const GatePlan plan = nights({9}, 1);
  const GateOptions options = {0.3, 0.05, 96};
  for (const double tail : {0.1, 0.25, 0.4, 0.5}) {
    CAPTURE(tail);
    const double found =
        probability_of({{0.5, tail}, {2.0, tail}, {1.0, 1 - 2 * tail}}, plan, options, alarmed);
    CHECK(found <= options.alarm);
    if (tail == 0.5) CHECK(found > options.alarm / 10);
  }
}

TEST_CASE("a change within the margin in symmetric noise hardly ever raises an alarm",
          "[gate][errors]") {
  // The worst place: the median at the margin, the noise just wide enough to be slow on one side
  // and to be beyond the margin on the other.
  const GatePlan plan = nights({9}, 1);
  const GateOptions options = {0.3, 0.05, 96};
  for (const double tail : {0.1, 0.3, 0.45}) {
    CAPTURE(tail);
    const double found = probability_of(
        {{std::pow(1.01501, -4), tail}, {std::pow(1.01501, 2), tail}, {1 / 1.01499, 1 - 2 * tail}},
        plan, options, alarmed);
    CHECK(found <= options.alarm);
    if (tail > 0.4) CHECK(found > options.alarm / 20);
  }
}

TEST_CASE("a median beyond the margin is hardly ever called the same", "[gate][errors][long]") {
  for (const GatePlan& plan : plans()) {
    for (const double error : {0.4, 0.2}) {
      const GateOptions options = {0.05, error, 96};
      const double worse =
          probability_of({{kBeyond, 0.5}, {kWithin, 0.5}}, counted(plan), options, same);
      const double better =
          probability_of({{1 / kBeyond, 0.5}, {kWithin, 0.5}}, counted(plan), options, same);
      const double unchanged =
          probability_of({{0.999, 0.5}, {1.001, 0.5}}, counted(plan), options, same);
      CAPTURE(error, worse, unchanged);
      CHECK(worse <= error * (1 + 1e-9));
      CHECK(better <= error * (1 + 1e-9));
      if (error > 0.3) CHECK(worse > error / 10);
      // With 0.2 no bound of slow starts is possible before 11 clusters.
      if (error > 0.3) CHECK(unchanged > worse);
    }
  }
}

TEST_CASE("the further beyond the margin, the rarer it is called the same", "[gate][errors]") {
  double before = 1;
  for (const double beyond : {0.5, 0.6, 0.7, 0.8, 0.9}) {
    const double found = probability_of({{kBeyond, beyond}, {kWithin, 1 - beyond}}, nights({12}, 1),
                                        {0.05, 0.4, 96}, same);
    CHECK(found < before);
    before = found;
  }
  CHECK(before < 1e-4);
}

TEST_CASE("slow in a fifth of its starts is hardly ever called the same", "[gate][errors][long]") {
  const GatePlan plan = nights({10}, 1);
  for (const double error : {0.45, 0.3}) {
    const GateOptions options = {0.05, error, 96};
    for (const double fast : {0.0, 0.1, 0.25}) {
      const double found = probability_of(
          {{0.9, fast + kSlowShare}, {1 / 0.9, fast}, {1.0, 1 - kSlowShare - 2 * fast}}, plan,
          options, same);
      CAPTURE(error, fast, found);
      CHECK(found <= error);
      if (fast == 0) CHECK(found > error / 10);
    }
  }
}

// The promise behind every verdict, at the two places where it is hardest to keep: a change that is
// hardly within the margin must not be called a regression, one hardly beyond it not the same.
TEST_CASE("near the margin a wrong verdict is as rare as the errors say", "[gate][errors]") {
  std::mt19937_64 random(2026);
  std::normal_distribution<double> normal(0, 0.004);
  std::student_t_distribution<double> heavy(2);
  const auto narrow = [&] { return normal(random); };
  const auto tailed = [&] { return 0.003 * heavy(random); };
  constexpr int kCampaigns = 1000;
  for (const bool heavy_tails : {false, true}) {
    int called_regressed = 0;
    int called_same = 0;
    for (int i = 0; i < kCampaigns; ++i) {
      const std::function<double()> noise =
          heavy_tails ? std::function<double()>(tailed) : std::function<double()>(narrow);
      const CampaignDecision within = decided({drawn(48, 1 / 1.0149, noise)});
      const CampaignDecision beyond = decided({drawn(48, 1 / 1.0151, noise)});
      called_regressed += regressed(within.metrics[0]) ? 1 : 0;
      called_same += same(beyond.metrics[0]) ? 1 : 0;
    }
    CAPTURE(heavy_tails);
    // Four standard errors of the count are allowed for.
    const auto most = [](double error) {
      return kCampaigns * error + 4 * std::sqrt(kCampaigns * error);
    };
    CHECK(called_regressed <= most(0.05 * 2 / 3));
    CHECK(called_same <= most(0.05));
    CHECK(called_same > 0);
  }
}
