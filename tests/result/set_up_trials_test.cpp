#include "harness/result/set_up_trials.hpp"

#include <catch2/catch.hpp>

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("another set-up is taken only where it is worth it", "[loadgen]") {
  CHECK(best_set_up({{2, 32, 100}}).batch_size == 32);
  // Noise of two per cent moves nothing.
  CHECK(best_set_up({{2, 32, 100}, {2, 16, 102}}).batch_size == 32);
  CHECK(best_set_up({{2, 32, 100}, {2, 16, 103}, {1, 64, 99}}).batch_size == 16);
  CHECK(best_set_up({{2, 32, 100}, {2, 16, 104}, {1, 64, 110}}).threads == 1);
}

TEST_CASE("trials of a set-up are read as they were written", "[loadgen]") {
  const SetUpTrials before{1.5, "", {{2, 32, 100.25, "fp32"}, {1, 8, 50}}};
  const SetUpTrials again = set_up_from(set_up_json(before));
  CHECK(again.seconds == before.seconds);
  CHECK(again.from.empty());
  REQUIRE(again.trials.size() == 2);
  CHECK(again.trials[0].samples_per_second == 100.25);
  CHECK(again.trials[1].threads == 1);
  CHECK(again.trials[1].batch_size == 8);
  CHECK(again.trials[0].precision == "fp32");
  CHECK(again.trials[1].precision.empty());
  SetUpTrials taken = before;
  taken.from = "3e4b8a50-0000-4000-8000-000000000000";
  CHECK(set_up_from(set_up_json(taken)).from == taken.from);
}
