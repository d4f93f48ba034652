// What a campaign in lockstep plans, and that it stands beside its results.
#include "harness/gate/nights.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// Two sides that take a second each to start, then a tenth of one for each of their turns.
ClusterRecord cluster_of(std::int64_t number, std::size_t rounds) {
  ClusterRecord record;
  record.cluster = number;
  record.seconds = 2 + 0.2 * static_cast<double>(rounds);
  for (const char* name : {"baseline", "candidate"}) {
    SideTurns side;
    side.name = name;
    side.start_seconds = 1;
    side.turns.resize(rounds);
    record.sides.push_back(std::move(side));
  }
  return record;
}

PlannedCampaign campaign(bool pooled) {
  PlannedCampaign campaign;
  campaign.id = "a";
  campaign.plan.pooled = pooled;
  return campaign;
}

/// 40 clusters are planned, 10 of them were measured before the stop, in 40 s.
Nights stopped_night(const std::filesystem::path& folder) {
  PlannedCampaign before = campaign(false);
  before.rounds = 10;
  before.plan.nights = {{40, std::nullopt}};
  Nights nights(before, folder, {});
  for (std::int64_t cluster = 1; cluster <= 10; ++cluster) {
    nights.add(cluster_of(cluster, 10), true);
  }
  return nights;
}

}  // namespace

TEST_CASE("a night is planned from its budget and what the last cluster cost", "[gate][plan]") {
  const TemporaryFolder folder;
  Nights nights(campaign(false), folder.path(), {});
  CHECK_FALSE(nights.planned());
  // Nothing is looked at before it is planned: as if all that the rules allow would come.
  CHECK(nights.plan().nights.at(0).clusters == GateOptions{}.most_clusters);
  CHECK(nights.rounds() == 3);
  nights.add(cluster_of(1, 10), false);
  nights.add(cluster_of(2, 10), false);
  // 4 s a cluster of 10 rounds: there is time for 40 of 20 rounds, or 46 of 16.
  nights.begin({60 * 4.0}, 3);
  CHECK(nights.plan().nights.at(0).clusters == 46);
  CHECK(nights.rounds() == 16);
  CHECK(read_plan(folder.path())->rounds == 16);
  CHECK(read_plan(folder.path())->plan.nights.size() == 1);
  CHECK(nights.planned_clusters() == 46);
  nights.end_early();
  CHECK(read_plan(folder.path())->plan.nights.at(0).ended == 2);
}

TEST_CASE("what is no part of the rounds does not grow with them", "[gate][plan]") {
  const TemporaryFolder folder;
  Nights nights(campaign(false), folder.path(), {});
  // 4 rounds of 0.2 s; 5 s besides, of which 2 s are starts.
  ClusterRecord record = cluster_of(1, 4);
  record.seconds = 5.8;
  record.rounds_seconds = 0.8;
  nights.add(record, false);
  nights.begin({50 * 9.0}, 3);
  CHECK(nights.rounds() == 20);
  CHECK(nights.planned_clusters() == 50);
}

TEST_CASE("a budget without room for a verdict is refused", "[gate][plan]") {
  const TemporaryFolder folder;
  Nights nights(campaign(false), folder.path(), {});
  nights.add(cluster_of(1, 10), false);
  // 14 clusters of 3 rounds take 36.4 s.
  CHECK_THROWS_WITH(nights.begin({30}, 3),
                    Catch::StartsWith("--budget 0.5:") && Catch::EndsWith("(--budget 1 would do)"));
  CHECK_THROWS_WITH(nights.begin({15, true}, 3),
                    Catch::StartsWith("the usual budget of 15 s: a cluster takes 4 s"));
  CHECK_FALSE(nights.planned());
  CHECK_FALSE(read_plan(folder.path())->budget_seconds.has_value());
}

TEST_CASE("a usual budget that seems too small may take twice as long", "[gate][plan]") {
  const TemporaryFolder folder;
  Nights nights(campaign(false), folder.path(), {});
  nights.add(cluster_of(1, 10), false);
  nights.begin({30, true}, 3);
  CHECK(nights.planned_clusters() == 22);
  CHECK(nights.rounds() == 3);
  CHECK(nights.extension() ==
        "a cluster takes 4 s, and the usual 30 s have no room for 14: up to 1 min 00 s may be "
        "taken");
  // Told once, and nothing that a later night would begin with.
  CHECK(nights.time_for_another({30, true}));
  CHECK(nights.extension().empty());
  CHECK_FALSE(read_plan(folder.path())->budget_seconds.has_value());
  // One that does is as it was.
  const TemporaryFolder other;
  Nights usual(campaign(false), other.path(), {});
  usual.add(cluster_of(1, 10), false);
  usual.begin({60, true}, 3);
  CHECK(usual.extension().empty());
  CHECK_FALSE(read_plan(other.path())->budget_seconds.has_value());
}

TEST_CASE("too few pairs are refused whatever the budget", "[gate][plan]") {
  const TemporaryFolder folder;
  GateOptions options;
  options.most_clusters = 10;
  const std::string refused = "--pairs 10: no fewer than 14 can tell (--pairs 14 would do)";
  CHECK_THROWS_WITH(Nights(campaign(false), folder.path(), options), refused);
  CHECK_FALSE(read_plan(folder.path()));
  options.most_clusters = 14;
  CHECK_NOTHROW(Nights(campaign(false), folder.path(), options).require_enough(1));
  // Nights that pool leave error to those behind them.
  CHECK_THROWS_WITH(Nights(campaign(true), folder.path(), options),
                    "--pairs 14: no fewer than 16 can tell (--pairs 16 would do)");
}

TEST_CASE("a campaign that goes on before its plan has the pairs it began with", "[gate][plan]") {
  const TemporaryFolder folder;
  GateOptions options;
  options.most_clusters = 14;
  { const Nights begun(campaign(false), folder.path(), options); }
  Nights nights(read_plan(folder.path()).value(), folder.path(), {});
  nights.add(cluster_of(1, 10), true);
  nights.begin({3600}, 1);
  CHECK(nights.planned_clusters() == 14);
}

TEST_CASE("a pooled night counts from where the one before ended", "[gate][plan]") {
  const TemporaryFolder folder;
  PlannedCampaign before = campaign(true);
  before.rounds = 10;
  before.plan.nights = {{40, 30}};
  Nights nights(before, folder.path(), {});
  for (std::int64_t cluster = 1; cluster <= 30; ++cluster) {
    nights.add(cluster_of(cluster, 10), true);
  }
  nights.begin({24 * 4.0}, 3);
  CHECK(nights.plan().nights.size() == 2);
  // With as many rounds a cluster, whatever the time.
  CHECK(nights.rounds() == 10);
  CHECK(nights.planned_clusters() == 30 + 24);
  CHECK(nights.plan().pooled);
  // What the night before took is not this one's time.
  nights.add(cluster_of(31, 10), false);
  CHECK(nights.time_for_another({60}));
}

TEST_CASE("a night that was stopped has spent what its clusters took", "[gate][plan]") {
  const TemporaryFolder folder;
  Nights nights = stopped_night(folder.path());
  CHECK(nights.done() == 10);
  CHECK_FALSE(nights.time_for_another({43}));
  CHECK(nights.time_for_another({60}));
}

TEST_CASE("a usual budget that is spent before the plan is done may take twice as long",
          "[gate][plan]") {
  const TemporaryFolder folder;
  Nights nights = stopped_night(folder.path());
  // 40 s, and 4 s for another one.
  CHECK_FALSE(nights.time_for_another({21, true}));
  CHECK(nights.extension().empty());
  CHECK_FALSE(read_plan(folder.path())->budget_seconds.has_value());
  CHECK(nights.time_for_another({43, true}));
  CHECK(nights.extension() ==
        "the usual 43 s were spent after 10 of 40 clusters: up to 1 min 26 s may be taken");
  CHECK(nights.planned_clusters() == 40);
  // Told once.
  CHECK(nights.time_for_another({43, true}));
  CHECK(nights.extension().empty());
  // The next night has the usual time again.
  CHECK_FALSE(read_plan(folder.path())->budget_seconds.has_value());
}

TEST_CASE("what is to come costs what the clusters behind the first did", "[gate][plan]") {
  const TemporaryFolder folder;
  PlannedCampaign before = campaign(false);
  before.rounds = 10;
  before.plan.nights = {{40, std::nullopt}};
  Nights nights(before, folder.path(), {});
  ClusterRecord cold = cluster_of(1, 10);
  cold.seconds += 20;
  nights.add(cold, true);
  CHECK(nights.seconds_until(2) == Approx(24).margin(1));
  nights.add(cluster_of(2, 10), true);
  nights.add(cluster_of(3, 10), true);
  CHECK(nights.seconds_until(13) == Approx(40).margin(1));
  // 32 s, and 4 s for another one.
  CHECK(nights.time_for_another({37}));
  CHECK_FALSE(nights.time_for_another({35}));
}
