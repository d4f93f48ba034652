// What a run of several ranks says of itself, and where that cannot be.
#include "harness/result/world_report.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/result/consistency.hpp"
#include "harness/result/result_json.hpp"
#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

/// A run of three ranks, of which the last one was lost.
Result run_of_ranks() {
  Result result = sample_result();
  const auto batch = result.settings.effective.at("batch_size").get<std::int64_t>();
  result.settings.effective["ranks"] = 3;
  WorldReport world{3, 1, "made up", 3 * batch, {}, false};
  world.members = {{0, 0, "M", "0-1", 0.4, 0.1, 0.4, 1e9, ""},
                   {1, 0, "M", "2-3", 0.45, 0.05, 0.4, 1e9, ""}};
  RankReport lost;
  lost.rank = 2;
  lost.missing = "its process was ended";
  world.members.push_back(lost);
  result.world = world;
  return result;
}

}  // namespace

TEST_CASE("what ranks tell of themselves is written and read", "[ranks]") {
  const Result result = run_of_ranks();
  const json document = to_json(result);
  const Result read = result_from_json(document);
  CHECK(to_json(read) == document);
  REQUIRE(read.world);
  CHECK(read.world->members[2].missing == "its process was ended");
  CHECK(slowest_rank(*read.world)->rank == 1);
  CHECK(read.world->members[0].hidden() == Approx(0.75));
  CHECK_FALSE(read.world->members[2].hidden());
  CHECK(find_inconsistencies(read, document).empty());
}

TEST_CASE("a world that cannot be is named by path", "[ranks]") {
  struct Case {
    std::function<void(Result&)> edit;
    const char* path;
  };
  const Case cases[] = {
      {[](Result& r) { r.world.reset(); }, "/world"},
      {[](Result& r) { r.settings.effective["ranks"] = 1; }, "/world"},
      {[](Result& r) { r.settings.effective.erase("ranks"); }, "/world"},
      {[](Result& r) { r.settings.effective["ranks"] = 4; }, "/world/ranks"},
      {[](Result& r) { r.world->nodes = 4; }, "/world/nodes"},
      {[](Result& r) { ++r.world->global_batch_size; }, "/world/global_batch_size"},
      {[](Result& r) { r.world->members.pop_back(); }, "/world/members"},
      {[](Result& r) { std::swap(r.world->members[0], r.world->members[1]); },
       "/world/members/0/rank"}};
  for (const Case& one : cases) {
    Result result = run_of_ranks();
    one.edit(result);
    INFO(one.path);
    const std::vector<SchemaProblem> problems = find_inconsistencies(result, to_json(result));
    CHECK(std::any_of(problems.begin(), problems.end(),
                      [&](const SchemaProblem& problem) { return problem.path == one.path; }));
  }
}
