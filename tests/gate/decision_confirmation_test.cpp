// Exploration, confirmation and their budget: what fresh pairs can and cannot overturn.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "harness/gate/decision.hpp"
#include "tests/support/gate_pairs.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a regression that only the exploration saw is none", "[gate]") {
  const CampaignDecision decision = campaign({stretches({{6, 1.10}, {42, 1.0}})});
  CHECK(decision.finished);
  CHECK(decision.metrics[0].verdict == Verdict::kSame);
  CHECK(decision.metrics[0].improvement.center == 1.0);
  CHECK(decision.pairs_wanted == 16);
}

TEST_CASE("a regression that only the confirmation sees is one", "[gate]") {
  const CampaignDecision decision = campaign({stretches({{6, 1.0}, {42, 1.10}})});
  CHECK(decision.finished);
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
}

TEST_CASE("a confirmation that is not clear is repeated once, with all that is left", "[gate]") {
  // Six pairs explored, ten torn ones in the first attempt.
  std::vector<double> seconds(6, 1.10);
  for (int i = 0; i < 10; ++i) seconds.push_back(i % 2 == 0 ? 1.10 : 0.9);
  const std::size_t before = seconds.size();
  seconds.insert(seconds.end(), 32, 1.10);
  const PairedMetric metric = against_one(seconds);
  const CampaignDecision after_first = decided(std::vector{first(metric, before)});
  CHECK_FALSE(after_first.finished);
  CHECK(after_first.confirming);
  CHECK(after_first.pairs_wanted == 48);
  const CampaignDecision decision = decided(std::vector{metric});
  CHECK(decision.finished);
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
  CHECK(decision.metrics[0].pairs == 32);
}

TEST_CASE("a second confirmation that is not clear ends the campaign", "[gate]") {
  std::vector<double> seconds(6, 1.10);
  while (seconds.size() < 48) seconds.push_back(seconds.size() % 2 == 0 ? 1.10 : 0.9);
  const CampaignDecision decision = decided(std::vector{against_one(seconds)});
  CHECK(decision.finished);
  CHECK(decision.pairs_wanted == 48);
  CHECK(decision.metrics[0].verdict == Verdict::kInconclusive);
}

TEST_CASE("a search without an end leaves its pairs to one confirmation", "[gate]") {
  // Never clear in the first quarter of 48; clear from there on.
  PairedMetric metric = torn(12);
  metric.base.resize(48, 1.0);
  metric.candidate.resize(48, 1.05);
  for (const std::size_t pairs : {std::size_t{6}, std::size_t{8}, std::size_t{10}}) {
    const CampaignDecision looking = decided(std::vector{first(metric, pairs)});
    CHECK_FALSE(looking.confirming);
    CHECK(looking.pairs_wanted == pairs + 2);
  }
  const CampaignDecision confirming = decided(std::vector{first(metric, 12)});
  CHECK(confirming.confirming);
  CHECK(confirming.pairs_wanted == 48);
  const CampaignDecision decision = decided(std::vector{metric});
  CHECK(decision.finished);
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
  CHECK(decision.metrics[0].pairs == 36);
}

TEST_CASE("what one metric made clear stands while another is still looked into", "[gate]") {
  std::vector<PairedMetric> metrics = {constant(48, 1.05), stretches({{6, 1.0}})};
  // The second one looks clear at first, is torn in the first attempt, and clear in the second.
  for (std::size_t i = 6; i < 48; ++i) {
    metrics[1].base.push_back(1.0);
    metrics[1].candidate.push_back(i < 16 ? (i % 2 == 0 ? 0.5 : 2.0) : 1.0);
  }
  const CampaignDecision after_first = decided(first(metrics, 16));
  CHECK_FALSE(after_first.finished);
  CHECK(after_first.metrics[0].verdict == Verdict::kRegressed);
  CHECK(after_first.metrics[1].verdict == Verdict::kInconclusive);
  const CampaignDecision decision = decided(metrics);
  CHECK(decision.finished);
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
  CHECK(decision.metrics[0].pairs == 10);
  CHECK(decision.metrics[1].verdict == Verdict::kSame);
  CHECK(decision.metrics[1].pairs == 32);
}

TEST_CASE("each metric has its own direction and margin", "[gate]") {
  std::vector<PairedMetric> metrics = {constant(48, 1.05), constant(48, 1.05, 0.10),
                                       constant(48, 1.05)};
  metrics[2].direction = Direction::kHigher;
  const CampaignDecision decision = campaign(metrics);
  CHECK(decision.metrics[0].verdict == Verdict::kRegressed);
  CHECK(decision.metrics[1].verdict == Verdict::kSame);
  CHECK(decision.metrics[2].verdict == Verdict::kFaster);
}

TEST_CASE("more metrics make every interval of the confirmation surer", "[gate]") {
  double before = 0;
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
    std::vector<PairedMetric> metrics(count, constant(48, 1.0));
    const CampaignDecision decision = campaign(metrics);
    REQUIRE(decision.finished);
    CHECK(decision.metrics[0].improvement.confidence >=
          1 - 0.05 / (2 * static_cast<double>(count)));
    CHECK(decision.metrics[0].improvement.confidence >= before);
    before = decision.metrics[0].improvement.confidence;
  }
}

TEST_CASE("pairs behind the end change nothing", "[gate]") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, 0.01);
  for (int round = 0; round < 200; ++round) {
    const PairedMetric metric = drawn(48, 1.0 + 0.01 * (round % 7), [&] { return noise(random); });
    const CampaignDecision at_the_end = campaign({metric});
    REQUIRE(at_the_end.finished);
    const CampaignDecision with_all = decided(std::vector{metric});
    CHECK(with_all.finished);
    CHECK(with_all.pairs_wanted == at_the_end.pairs_wanted);
    CHECK(with_all.metrics[0].verdict == at_the_end.metrics[0].verdict);
    CHECK(with_all.metrics[0].improvement.low == at_the_end.metrics[0].improvement.low);
    CHECK(with_all.metrics[0].pairs == at_the_end.metrics[0].pairs);
  }
}

TEST_CASE("swapping the sides mirrors the verdict", "[gate]") {
  std::mt19937_64 random(12);
  std::normal_distribution<double> noise(0, 0.01);
  for (int round = 0; round < 200; ++round) {
    const PairedMetric metric = drawn(48, 1.0 + 0.01 * (round % 7), [&] { return noise(random); });
    PairedMetric swapped = metric;
    std::swap(swapped.base, swapped.candidate);
    const CampaignDecision one = decided(std::vector{metric});
    const CampaignDecision other = decided(std::vector{swapped});
    CHECK(one.pairs_wanted == other.pairs_wanted);
    const Verdict verdict = one.metrics[0].verdict;
    const Verdict mirrored = verdict == Verdict::kFaster      ? Verdict::kRegressed
                             : verdict == Verdict::kRegressed ? Verdict::kFaster
                                                              : verdict;
    CHECK(other.metrics[0].verdict == mirrored);
  }
}

TEST_CASE("the budget is kept and never exceeded", "[gate]") {
  for (const std::size_t most :
       {std::size_t{2}, std::size_t{6}, std::size_t{13}, std::size_t{14}, std::size_t{15},
        std::size_t{16}, std::size_t{17}, std::size_t{24}, std::size_t{48}, std::size_t{400}}) {
    for (const PairedMetric& metric :
         {constant(402, 1.0), constant(402, 1.05), torn(402), stretches({{6, 1.1}, {396, 1.0}})}) {
      CAPTURE(most);
      const CampaignDecision decision = campaign({metric}, {0.95, most});
      CHECK(decision.finished);
      CHECK(decision.pairs_wanted <= std::max<std::size_t>(most, 6));
      CHECK(decision.metrics.size() == 1);
      // Six to explore and eight fresh ones are the fewest that say anything.
      if (most < 14) CHECK(decision.metrics[0].verdict == Verdict::kInconclusive);
    }
    if (most >= 14) {
      CHECK(campaign({constant(402, 1.0)}, {0.95, most}).metrics[0].verdict == Verdict::kSame);
      CHECK(campaign({constant(402, 1.05)}, {0.95, most}).metrics[0].verdict ==
            Verdict::kRegressed);
    }
  }
}

TEST_CASE("a campaign that was broken off says nothing", "[gate]") {
  for (std::size_t pairs = 0; pairs < 16; ++pairs) {
    CAPTURE(pairs);
    const CampaignDecision decision = decided(std::vector{constant(pairs, 2.0)});
    CHECK_FALSE(decision.finished);
    CHECK(decision.pairs_wanted > pairs);
    CHECK(decision.metrics[0].verdict == Verdict::kInconclusive);
  }
}

TEST_CASE("a machine that drifts evenly weighs on both sides alike", "[gate]") {
  // Each run takes 1 % longer than the one before; A B, B A, A B, ...
  for (const double drift : {1.01, 0.99, 1.003}) {
    PairedMetric metric{{}, {}, Direction::kLower, 0.015};
    double now = 1;
    for (int pair = 0; pair < 48; ++pair) {
      const double earlier = now;
      const double later = now * drift;
      now = later * drift;
      metric.base.push_back(pair % 2 == 0 ? earlier : later);
      metric.candidate.push_back(pair % 2 == 0 ? later : earlier);
    }
    CAPTURE(drift);
    CHECK(campaign({metric}).metrics[0].verdict == Verdict::kSame);
  }
}

TEST_CASE("a level that jumps once moves no verdict", "[gate]") {
  // From one pair on, in the middle of it, everything takes 40 % longer.
  for (std::size_t at = 0; at < 16; ++at) {
    PairedMetric metric{{}, {}, Direction::kLower, 0.015};
    std::mt19937_64 random(at);
    std::normal_distribution<double> noise(0, 0.001);
    for (std::size_t pair = 0; pair < 48; ++pair) {
      const double base = pair > at ? 1.4 : 1.0;
      const double candidate = pair >= at ? 1.4 : 1.0;
      metric.base.push_back(base * std::exp(noise(random)));
      metric.candidate.push_back(candidate * std::exp(noise(random)));
    }
    CAPTURE(at);
    const CampaignDecision decision = campaign({metric});
    CHECK(decision.metrics[0].verdict == Verdict::kSame);
  }
}

// The promise behind every verdict, at the two places where it is hardest to keep: a change that is
// hardly within the margin must not be called a regression, one hardly beyond it not the same.
TEST_CASE("near the margin a wrong verdict is as rare as the confidence says", "[gate]") {
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
      const CampaignDecision within = decided(std::vector{drawn(48, 1.0149, noise)});
      const CampaignDecision beyond = decided(std::vector{drawn(48, 1.0151, noise)});
      called_regressed += within.metrics[0].verdict == Verdict::kRegressed ? 1 : 0;
      called_same += beyond.metrics[0].verdict == Verdict::kSame ? 1 : 0;
    }
    CAPTURE(heavy_tails);
    // Each side has half of 5 %; four standard errors of the count are allowed for.
    const double most = kCampaigns * 0.025 + 4 * std::sqrt(kCampaigns * 0.025);
    CHECK(called_regressed <= most);
    CHECK(called_same <= most);
  }
}
