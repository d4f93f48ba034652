// What becomes of a campaign in which a side failed.
#include "harness/gate/failures.hpp"

#include <catch2/catch.hpp>

#include "harness/base/error.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a side is tried once more, and what follows depends on the side", "[gate]") {
  Failures failures({"baseline", "candidate", "anchor"}, "out");
  for (const std::size_t side : {kBaseline, kCandidate, kAnchor}) {
    CHECK(failures.count("cluster 3", {side, "died"}) == AfterFailure::kTryAgain);
  }
  CHECK_FALSE(failures.regressed());
  CHECK(failures.notes().at(1) == "cluster 3 was tried again: candidate: died");
  CHECK(failures.count("cluster 5", {kAnchor, "died"}) == AfterFailure::kWithoutAnchor);
  CHECK(failures.count("cluster 7", {kCandidate, "hangs"}) == AfterFailure::kRegressed);
  CHECK(failures.regressed());
  CHECK(failures.why() == "hangs");
  CHECK_THROWS_WITH(failures.count("cluster 8", {kBaseline, "died"}),
                    Catch::Contains("baseline, cluster 8: died"));
}
