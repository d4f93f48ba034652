// The plan beside a campaign's results.
#include "harness/gate/plan_file.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a plan is read as it was written", "[gate][plan]") {
  const TemporaryFolder folder;
  CHECK_FALSE(read_plan(folder.path()));
  CHECK_FALSE(read_plan(folder / "nowhere"));
  PlannedCampaign campaign;
  campaign.id = "a";
  campaign.baseline = {"old run 'with \"quotes\"'", HarnessCall{"run", {"with \"quotes\"", ""}}};
  campaign.candidate = {"new run", HarnessCall{"run", {}}};
  campaign.anchor.text = "older run";
  campaign.rules_sha256 = "1234";
  campaign.pause_seconds = 1.5;
  campaign.tasks = {{"classify", "b", campaign.baseline, campaign.candidate}};
  write_plan(folder.path(), campaign);
  CHECK(read_plan(folder.path())->plan.nights.empty());
  campaign.rounds = 12;
  campaign.plan = {{Night{40, 13}, Night{20, std::nullopt}}, campaign.plan.block, true};
  write_plan(folder.path(), campaign);
  const auto read = read_plan(folder.path());
  REQUIRE(read);
  CHECK(read->id == "a");
  CHECK(read->asked);
  const auto same = [](const AskedCommand& one, const AskedCommand& other) {
    if (one.text != other.text || one.call.has_value() != other.call.has_value()) return false;
    return !one.call || (one.call->command == other.call->command &&
                         one.call->arguments == other.call->arguments);
  };
  CHECK(same(read->baseline, campaign.baseline));
  CHECK(same(read->candidate, campaign.candidate));
  CHECK(same(read->anchor, campaign.anchor));
  CHECK(same(read->trained_baseline, AskedCommand{}));
  CHECK_FALSE(read->whole);
  REQUIRE(read->tasks.size() == 1);
  CHECK(read->tasks[0].workload == "classify");
  CHECK(read->tasks[0].id == "b");
  CHECK(same(read->tasks[0].baseline, campaign.baseline));
  CHECK(same(read->tasks[0].candidate, campaign.candidate));
  CHECK(read->rules_sha256 == "1234");
  CHECK(read->pause_seconds == 1.5);
  CHECK(read->rounds == 12);
  CHECK(read->plan.pooled);
  REQUIRE(read->plan.nights.size() == 2);
  CHECK(read->plan.nights[0].ended == 13);
  CHECK(read->plan.nights[1].clusters == 20);
  CHECK_FALSE(read->plan.nights[1].ended);
}

TEST_CASE("a plan of before campaigns had nights is read", "[gate][plan]") {
  const TemporaryFolder folder;
  std::ofstream(folder / "plan.jsonl") << R"({"campaign":"a","clusters":40,"ended":13})";
  const auto read = read_plan(folder.path());
  REQUIRE(read);
  REQUIRE(read->plan.nights.size() == 1);
  CHECK(read->plan.nights[0].clusters == 40);
  CHECK(read->plan.nights[0].ended == 13);
}

TEST_CASE("a plan of before commands were asked has their text alone", "[gate][plan]") {
  const TemporaryFolder folder;
  std::ofstream(folder / "plan.jsonl")
      << R"({"campaign":"a","nights":[],"baseline":"harness run","candidate":"x","anchor":""})";
  const auto read = read_plan(folder.path());
  REQUIRE(read);
  CHECK_FALSE(read->asked);
  CHECK(read->baseline.text == "harness run");
  CHECK_FALSE(read->baseline.call);
  CHECK(read->anchor.text.empty());
}

TEST_CASE("a file that is no plan is refused", "[gate][plan]") {
  const TemporaryFolder folder;
  for (
      const char* text :
      {"",
       "[]",
       "3",
       "{}",
       R"({"campaign":1})",
       R"({"campaign":"a"})",
       R"({"campaign":"a","clusters":-1})",
       R"({"campaign":"a","clusters":1.5})",
       R"({"campaign":"a","clusters":1e9})",
       R"({"campaign":"a","clusters":40000000})",
       R"({"campaign":"a","clusters":40,"ended":41})",
       R"({"campaign":"a","clusters":4,"ended":"x"})",
       R"({"campaign":"a","clusters":40}{)",
       R"({"campaign":"a","nights":3})",
       R"({"campaign":"a","nights":[4]})",
       R"({"campaign":"a","nights":[{"clusters":4},{"clusters":4}]})",
       R"({"campaign":"a","nights":[],"rounds":-1})",
       R"({"campaign":"a","nights":[],"pause_seconds":-1})",
       R"({"campaign":"a","nights":[],"tasks":3})",
       R"({"campaign":"a","nights":[],"tasks":[{"workload":"w"}]})",
       R"({"campaign":"a","nights":[],"tasks":[{"workload":"../w","id":"","baseline":"","candidate":""}]})",
       R"({"campaign":"a","nights":[],"tasks":[{"workload":"..","id":"","baseline":"","candidate":""}]})",
       R"({"campaign":"a","nights":[],"baseline":3})",
       R"({"campaign":"a","nights":[],"baseline":{"starts":"run","arguments":[]}})",
       R"({"campaign":"a","nights":[],"baseline":{"command":"x","starts":"run"}})",
       R"({"campaign":"a","nights":[],"baseline":{"command":"x","starts":"run","arguments":[1]}})"}) {
    CAPTURE(text);
    std::ofstream(folder / "plan.jsonl") << text;
    CHECK_THROWS_AS(read_plan(folder.path()), Error);
  }
}
