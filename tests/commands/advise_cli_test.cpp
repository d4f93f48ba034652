// End to end: `harness advise` on profiles of the null workload.
#include <catch2/catch.hpp>
#include <csignal>

#include "tests/support/files_of_runs.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

std::string profile_of_null(const TemporaryFolder& folder,
                            const std::vector<std::string>& more = {}) {
  REQUIRE(run_harness(profile_null(folder.path(), more)).code == 0);
  return only_file(folder.path(), ".json").string();
}

}  // namespace

TEST_CASE("advise names what brings something, with its command", "[advice][long]") {
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

TEST_CASE("advise puts what was measured beside what was expected", "[advice][long]") {
  const TemporaryFolder folder;
  const TemporaryFolder ablation;
  const std::string file =
      profile_of_null(folder, {"--set", "bf16-speedup=2", "--allocator", "pooled"});
  const Outcome ablated =
      run_harness({"ablate", "--workload", "null", "--set", "step-ms=3", "--set", "bf16-speedup=2",
                   "--clusters", "2", "--out", ablation.path().string()});
  CAPTURE(ablated.out, ablated.err);
  REQUIRE(ablated.code == 0);
  const Outcome outcome = run_harness(
      {"advise", file, "--json", "--measured", only_file(ablation.path(), ".json").string()});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json report = json::parse(outcome.out);
  REQUIRE(!report["advice"].empty());
  const json& precision = report["advice"].back();
  CHECK(precision["topic"] == "precision");
  CHECK(precision["measured_seconds"].get<double>() > 0.0005);
}

TEST_CASE("advise refuses what is no profile, and measurements of something else",
          "[advice][long]") {
  const TemporaryFolder folder;
  const std::string file = profile_of_null(folder);
  check_one_error(run_harness({"advise"}), 1, "harness: advise: ");
  check_one_error(run_harness({"advise", "/nowhere.json"}), 1, "harness: /nowhere.json: ");
  check_one_error(run_harness({"advise", file, "--measured", file}), 1, "is no ablation");
  check_one_error(run_harness({"advise", file, "--measured", "/nowhere.json"}), 1,
                  "harness: /nowhere.json: ");
  check_one_error(run_harness({"advise", file, "--nonsense"}), 1, "option '--nonsense': ");
  const TemporaryFolder other;
  REQUIRE(run_harness({"ablate", "--workload", "null", "--set", "step-ms=1", "--batch-size", "64",
                       "--clusters", "1", "--out", other.path().string()})
              .code == 0);
  const std::string ablation = only_file(other.path(), ".json").string();
  const Outcome outcome = run_harness({"advise", file, "--measured", ablation});
  CAPTURE(outcome.out, outcome.err);
  CHECK_THAT(outcome.out, Catch::Contains("batch_size is 64 there"));
}

TEST_CASE("advise for a profile of a larger machine uses what there is", "[advice][long]") {
  const TemporaryFolder folder;
  const std::string file = profile_of_null(folder, {"--set", "bf16-speedup=2"});
  json changed = read_json(file);
  changed["settings"]["effective"]["threads"] = 4096;
  changed["settings"]["effective"]["cpus"] = "5000-5001";
  rewrite(file, changed);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"advise", file},
        {"project", file, "--no-measure", "--rounds", "1", "--out", folder.path().string()}}) {
    const Outcome outcome = run_harness(command);
    CAPTURE(command, outcome.out, outcome.err);
    CHECK(outcome.code == 0);
    for (const char* of_the_profile : {"4096 threads", "5000-5001"}) {
      CHECK_THAT(outcome.out, Catch::Contains(of_the_profile));
    }
  }
}

TEST_CASE("a profile without any primitive is advised on, but not projected", "[advice]") {
  const TemporaryFolder folder;
  const std::string file = profile_of_null(folder, {"--set", "bf16-speedup=2"});
  json changed = read_json(file);
  json& part = changed["profile"];
  part["primitives"] = json::array();
  part["attributed_share"] = 1;
  for (json& one : part["operators"]) one["primitive_seconds"] = one["reorder_seconds"] = 0;
  rewrite(file, changed);
  const Outcome outcome = run_harness({"advise", file});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("precision: not known a step expected"));
  CHECK_THAT(outcome.out, Catch::Contains("holds no primitive: nothing can be replayed"));
  CHECK_THAT(outcome.out, Catch::Contains("of this step are explained by none of these"));
  CHECK_THAT(refusal_in(run_harness({"project", file})), is_about("profile", {"no primitive"}));
}

TEST_CASE("advice that was stopped says so by its exit code", "[advice][long]") {
  const TemporaryFolder folder;
  const std::string file =
      profile_of_null(folder, {"--set", "bf16-speedup=2", "--set", "step-ms=600"});
  Process process({"advise", file});
  wait_for_error_text(process, "preparing primitives");
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  REQUIRE(!error_lines(outcome).empty());
  CHECK_THAT(error_lines(outcome).front(), Catch::Contains("after the current primitive"));
  CHECK_THAT(outcome.err, !HasLines({"harness: run:*"}));
}
