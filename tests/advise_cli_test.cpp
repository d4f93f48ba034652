// End to end: `harness advise` on profiles of the null workload.
#include <catch2/catch.hpp>

#include "tests/profile_of_null.hpp"
#include "tests/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

std::string profile_of_null(const TemporaryFolder& folder,
                            const std::vector<std::string>& more = {}) {
  REQUIRE(run_harness(profile_null(folder.path(), more)).code == 0);
  return only_file(folder.path(), ".json").string();
}

}  // namespace

TEST_CASE("advise names what brings something, with its command", "[advice]") {
  const TemporaryFolder folder;
  const std::string file = profile_of_null(folder, {"--set", "bf16-speedup=2"});
  const Outcome outcome = run_harness({"advise", file, "--json"});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json report = json::parse(outcome.out);
  CHECK(report["step_seconds"].get<double>() >= 0.003);
  REQUIRE(!report["advice"].empty());
  const json& last = report["advice"].back();
  CHECK(last["topic"] == "precision");
  CHECK(last["try"] == "--precision bf16");
  CHECK(last["changes_numbers"] == true);
  CHECK(last["expected_share"].get<double>() > 0.2);
  CHECK(last["expected_share"].get<double>() < 0.8);

  const Outcome text = run_harness({"advise", file});
  CHECK(text.code == 0);
  CHECK_THAT(text.out, Catch::Contains("--precision bf16"));
  CHECK_THAT(text.out, Catch::Contains("change the arithmetic"));
}

TEST_CASE("advise puts what was measured beside what was expected", "[advice]") {
  const TemporaryFolder folder;
  const TemporaryFolder ablation;
  const std::string file =
      profile_of_null(folder, {"--set", "bf16-speedup=2", "--allocator", "pooled"});
  const Outcome ablated =
      run_harness({"ablate", "--workload", "null", "--set", "step-ms=3", "--set", "bf16-speedup=2",
                   "--out", ablation.path().string()});
  CAPTURE(ablated.out, ablated.err);
  REQUIRE(ablated.code == 0);
  const Outcome outcome = run_harness(
      {"advise", file, "--json", "--measured", only_file(ablation.path(), ".json").string()});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json report = json::parse(outcome.out);
  const json& precision = report["advice"].back();
  CHECK(precision["topic"] == "precision");
  CHECK(precision["measured_seconds"].get<double>() > 0.0005);
}

TEST_CASE("advise refuses what is no profile, and measurements of something else", "[advice]") {
  const TemporaryFolder folder;
  const std::string file = profile_of_null(folder);
  const auto refused = [](const std::vector<std::string>& arguments, int code,
                          const std::string& why) {
    const Outcome outcome = run_harness(arguments);
    CAPTURE(arguments, outcome.out, outcome.err);
    CHECK(outcome.code == code);
    CHECK_THAT(outcome.err, Catch::Contains(why));
  };
  refused({"advise"}, 1, "needs one profile");
  refused({"advise", "/nowhere.json"}, 1, "nowhere.json");
  refused({"advise", file, "--measured", file}, 1, "is no ablation");
  refused({"advise", file, "--measured", "/nowhere.json"}, 1, "nowhere.json");
  refused({"advise", file, "--nonsense"}, 1, "nonsense");
}
