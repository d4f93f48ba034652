// What the sides of a campaign in lockstep told so far.
#include "harness/gate/lockstep_sides.hpp"

#include <catch2/catch.hpp>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

KeptCluster cluster_that_waited(double seconds) {
  KeptCluster kept{{}, {"baseline/001", "candidate/001"}};
  kept.record.cluster = 1;
  for (const char* name : {"baseline", "candidate"}) {
    SideTurns side{.name = name, .hello = {.name = "told"}, .start_seconds = 1};
    for (std::int64_t round = 1; round <= 10; ++round) {
      side.turns.push_back({round, 1, {{{0.995}, {}, {}}, 1, seconds}});
    }
    kept.record.sides.push_back(side);
  }
  return kept;
}

}  // namespace

TEST_CASE("a busy machine is told by what the sides waited for a processor", "[gate]") {
  CampaignOptions options;
  options.baseline.text = options.candidate.text = "side";
  const CampaignHooks hooks;
  LockstepSides quiet(options, hooks, "id");
  quiet.take_over(cluster_that_waited(0.01));
  CHECK(quiet.notes().empty());
  LockstepSides busy(options, hooks, "id");
  busy.take_over(cluster_that_waited(0.1));
  REQUIRE(busy.notes().size() == 1);
  CHECK_THAT(busy.notes().front(), Catch::Contains("10 % of their turns' time"));
}
