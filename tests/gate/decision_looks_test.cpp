// Looks, plans and budgets: when a campaign ends, and what later clusters can and cannot overturn.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "harness/gate/decision.hpp"
#include "tests/support/gate_clusters.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// Slow by 10 % in every third start.
ClusterMetric every_third(std::size_t count) {
  ClusterMetric metric = constant(count, 1.0);
  for (std::size_t i = 0; i < count; i += 3) metric.improvements[i] = 1 / 1.10;
  return metric;
}

}  // namespace

TEST_CASE("a campaign ends at the first look at which all is clear", "[gate]") {
  struct Row {
    std::size_t clusters;
    std::size_t next;
    bool finished;
  };
  // A large change is clear at the first look of 12.
  for (const Row& row : {Row{0, 12, false}, Row{11, 12, false}, Row{12, 12, true},
                         Row{13, 12, true}, Row{48, 12, true}}) {
    CAPTURE(row.clusters);
    const CampaignDecision decision = decided({first(constant(48, 1.5), row.clusters)});
    CHECK(decision.finished == row.finished);
    CHECK(decision.clusters == row.next);
    CHECK(decision.metrics[0].verdict ==
          (row.finished ? Verdict::kFaster : Verdict::kInconclusive));
  }
  // That nothing changed is clear at the second look: no start may be slow for long enough.
  const CampaignDecision same = campaign({constant(48, 1.0)});
  CHECK(same.finished);
  CHECK(same.clusters == 24);
  CHECK(same.metrics[0].clusters == 24);
}

TEST_CASE("a campaign without a verdict ends with its plan", "[gate]") {
  const CampaignDecision before = decided({torn(47)});
  CHECK_FALSE(before.finished);
  CHECK(before.clusters == 48);
  const CampaignDecision decision = decided({torn(48)});
  CHECK(decision.finished);
  CHECK(decision.clusters == 48);
  CHECK(decision.metrics[0].verdict == Verdict::kInconclusive);
  CHECK(decision.metrics[0].clusters == 48);
}

TEST_CASE("nothing is discarded", "[gate]") {
  // Clusters of the first look weigh as much as later ones.
  const CampaignDecision decision = campaign({stretches({{10, 0.9}, {26, 0.98}, {12, 1.0}})});
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
  CHECK(decision.metrics[0].clusters == decision.clusters);
}

TEST_CASE("clusters behind the end change nothing", "[gate]") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, 0.01);
  for (int round = 0; round < 200; ++round) {
    const ClusterMetric metric = drawn(48, 1.0 - 0.01 * (round % 7), [&] { return noise(random); });
    const CampaignDecision at_the_end = campaign({metric});
    REQUIRE(at_the_end.finished);
    const CampaignDecision with_all = decided({metric});
    CHECK(with_all.finished);
    CHECK(with_all.clusters == at_the_end.clusters);
    CHECK(with_all.metrics[0].verdict == at_the_end.metrics[0].verdict);
    CHECK(with_all.metrics[0].improvement.low == at_the_end.metrics[0].improvement.low);
  }
}

TEST_CASE("swapping the sides mirrors the verdict", "[gate]") {
  std::mt19937_64 random(12);
  std::normal_distribution<double> noise(0, 0.004);
  for (int round = 0; round < 200; ++round) {
    const ClusterMetric metric = drawn(48, 1.0 - 0.01 * (round % 5), [&] { return noise(random); });
    ClusterMetric swapped = metric;
    for (double& value : swapped.improvements) value = 1 / value;
    const CampaignDecision one = decided({metric});
    const CampaignDecision other = decided({swapped});
    const Interval& bounds = one.metrics[0].improvement;
    const Interval& mirrored = other.metrics[0].improvement;
    if (one.clusters == other.clusters) {
      CHECK(*bounds.low == Approx(1 / *mirrored.high));
      CHECK(bounds.center == Approx(1 / mirrored.center));
      if (one.metrics[0].verdict == Verdict::kFaster) {
        CHECK(other.metrics[0].verdict == Verdict::kRegressed);
      }
      if (one.metrics[0].verdict == Verdict::kSame) {
        CHECK(other.metrics[0].verdict == Verdict::kSame);
      }
    }
  }
}

TEST_CASE("what a look made clear stands while another metric is looked into", "[gate]") {
  // The first is far off at first and then back, the second one is never clear.
  const ClusterMetric off = stretches({{24, 0.9}, {24, 1.0}});
  const CampaignDecision early = decided({first(off, 24), torn(24)});
  CHECK_FALSE(early.finished);
  CHECK(early.metrics[0].verdict == Verdict::kRegressed);
  const CampaignDecision decision = decided({off, torn(48)});
  CHECK(decision.finished);
  CHECK(decision.clusters == 48);
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
  CHECK(decision.metrics[0].clusters == 24);
  CHECK(decision.metrics[1].verdict == Verdict::kInconclusive);
}

TEST_CASE("a regression that is seen after all is told, whatever was said before", "[gate]") {
  const ClusterMetric creeping = stretches({{24, 1.0}, {72, 0.9}});
  const GatePlan plan = nights({96});
  const ClusterMetric open = torn(96);
  CHECK(decided({first(creeping, 24), first(open, 24)}, plan).metrics[0].verdict ==
        Verdict::kInconclusive);
  const CampaignDecision decision = decided({creeping, open}, plan);
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
}

TEST_CASE("a candidate that is slow in one start of three has regressed", "[gate]") {
  const CampaignDecision decision = decided({every_third(48)});
  const MetricDecision& metric = decision.metrics[0];
  CHECK(metric.verdict == Verdict::kRegressed);
  CHECK(metric.slow_starts);
  CHECK(metric.slow * 3 == metric.clusters);
  CHECK(metric.fast == 0);
  // The median says nothing of it.
  CHECK(metric.improvement.center == 1.0);
  CHECK(judge(metric.improvement, 0.015) == Verdict::kInconclusive);
  // The other way round it is no reason for "faster", nor against "same".
  ClusterMetric quick = every_third(48);
  for (double& value : quick.improvements) value = 1 / value;
  CHECK(decided({quick}).metrics[0].verdict == Verdict::kSame);
}

TEST_CASE("a machine whose starts differ slows both sides alike", "[gate]") {
  ClusterMetric metric = constant(96, 1.0);
  for (std::size_t i = 0; i < 96; i += 8) {
    metric.improvements[i] = 0.9;
    metric.improvements[i + 3] = 1 / 0.9;
  }
  CHECK(decided({metric}, nights({96})).metrics[0].verdict == Verdict::kSame);
}

TEST_CASE("a change within the margin with noise as large is no slow start", "[gate]") {
  // 1.4 % slower everywhere; the noise takes many clusters beyond the margin, none beyond four.
  ClusterMetric metric = constant(96, 1 / 1.014);
  for (std::size_t i = 0; i < 96; ++i) metric.improvements[i] *= i % 2 == 0 ? 0.99 : 1.01;
  const MetricDecision decision = decided({metric}, nights({96})).metrics[0];
  CHECK(decision.verdict != Verdict::kRegressed);
  CHECK(decision.slow == 0);
}

TEST_CASE("so many clusters are the fewest that can tell", "[gate]") {
  for (const std::size_t metrics :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{32}}) {
    for (const std::size_t block : {std::size_t{1}, std::size_t{2}}) {
      const GatePlan shape = nights({96}, block);
      const std::size_t fewest = fewest_clusters(metrics, shape);
      CAPTURE(metrics, block, fewest);
      CHECK(fewest % block == 0);
      CHECK(fewest >= 14);
      CHECK(fewest <= 20);
      const std::size_t columns = std::max<std::size_t>(metrics, 1);
      for (const auto& [improvement, verdict] :
           {std::pair(1.0, Verdict::kSame), std::pair(0.9, Verdict::kRegressed),
            std::pair(1.1, Verdict::kFaster)}) {
        const std::vector<ClusterMetric> all(columns, constant(fewest, improvement));
        CHECK(decided(all, nights({fewest}, block)).metrics[0].verdict == verdict);
      }
      const std::size_t fewer = fewest - block;
      const std::vector<ClusterMetric> none(columns, constant(fewer, 1.0));
      CHECK(decided(none, nights({fewer}, block)).metrics[0].verdict == Verdict::kInconclusive);
    }
  }
  // The command line has one number for all.
  CHECK(fewest_clusters(1) == 14);
  // What is shared with later nights needs more.
  CHECK(fewest_clusters(1, nights({96}, 1, true)) > fewest_clusters(1, nights({96}, 1)));
}

TEST_CASE("plans too small for a verdict give none", "[gate]") {
  for (std::size_t count = 0; count < 14; ++count) {
    CAPTURE(count);
    const CampaignDecision same = decided({constant(count, 1.0)}, nights({count}));
    CHECK(same.finished);
    CHECK(same.metrics[0].verdict == Verdict::kInconclusive);
  }
  const CampaignDecision five = decided({constant(5, 0.5)}, nights({5}));
  CHECK(five.metrics[0].verdict == Verdict::kInconclusive);
  CHECK_FALSE(five.metrics[0].improvement.low);
}

TEST_CASE("a campaign that was broken off keeps what its looks made clear", "[gate]") {
  for (std::size_t count = 0; count < 12; ++count) {
    const CampaignDecision decision = decided({constant(count, 2.0)});
    CHECK_FALSE(decision.finished);
    CHECK(decision.clusters == 12);
    CHECK(decision.metrics[0].verdict == Verdict::kInconclusive);
  }
  const CampaignDecision decision = decided({constant(30, 0.9), torn(30)});
  CHECK_FALSE(decision.finished);
  CHECK(decision.clusters == 36);
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
  CHECK(decision.metrics[1].verdict == Verdict::kInconclusive);
}

TEST_CASE("a night that time ended is looked at once more", "[gate]") {
  // Clear at neither 12 nor 24, but at 30 with all the error that is left.
  ClusterMetric metric = constant(30, 0.98);
  for (const std::size_t i : {1, 3, 5, 7, 14, 16, 18, 20}) metric.improvements[i] = 1.0;
  GatePlan plan = nights({48});
  CHECK_FALSE(decided({metric}, plan).finished);
  plan.nights[0].ended = 30;
  const CampaignDecision decision = decided({metric}, plan);
  CHECK(decision.finished);
  CHECK(decision.clusters == 30);
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
}

TEST_CASE("nights of one pair of commits pool", "[gate]") {
  // Some 2.5 % slower, as far as so noisy clusters show it: three of four say so.
  const auto night = [](std::size_t count) {
    ClusterMetric metric = constant(count, 0.975);
    for (std::size_t i = 0; i < count; i += 4) metric.improvements[i] = 1.0;
    return metric;
  };
  const GatePlan one = nights({24}, 2, true);
  CHECK(decided({night(24)}, one).finished);
  CHECK(decided({night(24)}, one).metrics[0].verdict == Verdict::kInconclusive);
  const GatePlan two = nights({24, 24}, 2, true);
  CHECK_FALSE(decided({night(24)}, two).finished);
  const CampaignDecision decision = decided({night(48)}, two);
  CHECK(decision.finished);
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
  CHECK(decision.clusters > 24);
  CHECK(decision.metrics[0].clusters == decision.clusters);
}

TEST_CASE("a machine that drifts evenly weighs on both sides alike", "[gate]") {
  // Each run takes 1 % longer than the one before; A B, B A, A B, ...
  for (const double drift : {1.01, 0.99, 1.003}) {
    ClusterMetric metric;
    for (int pair = 0; pair < 48; ++pair) {
      metric.improvements.push_back(pair % 2 == 0 ? 1 / drift : drift);
    }
    CAPTURE(drift);
    CHECK(campaign({metric}).metrics[0].verdict == Verdict::kSame);
  }
}

TEST_CASE("a level that jumps once moves no verdict", "[gate]") {
  // In one pair one side is measured before the jump, the other behind it.
  for (std::size_t at = 0; at < 24; ++at) {
    ClusterMetric metric = constant(48, 1.0);
    metric.improvements[at] = at % 2 == 0 ? 1 / 1.4 : 1.4;
    CAPTURE(at);
    CHECK(campaign({metric}).metrics[0].verdict == Verdict::kSame);
  }
}
