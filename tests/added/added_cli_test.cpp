// A setting, a scenario and a framework that this folder adds, from the command line to the
// verdict: nothing else had to be touched for them.
#include <catch2/catch.hpp>

#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kRules = HARNESS_SOURCE_DIR "/tests/added/stub-train.json";

/// By the program that has what this folder adds.
Outcome run_added(const std::vector<std::string>& arguments) {
  const fs::path program = fs::path(harness_program()).parent_path() / "harness_added";
  return Process(arguments, {}, {}, program.string()).wait();
}

std::string result_in(const fs::path& folder) {
  const std::vector<fs::path> files = files_ending(folder, ".json");
  REQUIRE(files.size() == 1);
  return files.front().string();
}

json measured(const fs::path& out, std::vector<std::string> options = {}) {
  std::vector<std::string> arguments = {"run", "--rules", kRules, "--json", "--out", out.string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Outcome outcome = run_added(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return json::parse(outcome.out);
}

}  // namespace

TEST_CASE("an added setting is in the help, the plan, the result and what is repeated", "[added]") {
  const TemporaryFolder folder;
  CHECK_THAT(run_added({"run", "--help"}).out, Catch::Contains("--graph-mode MODE"));
  const Outcome wrong = run_added({"run", "--rules", kRules, "--graph-mode", "compild"});
  CHECK(wrong.code == 1);
  CHECK_THAT(wrong.err, Catch::Contains("did you mean compiled?"));
  CHECK(run_added({"run", "--rules", kRules, "--prefetch", "65"}).code == 1);

  const json by_default = measured(folder.path() / "default");
  CHECK(by_default.at("/settings/effective/graph_mode"_json_pointer) == "eager");
  CHECK(by_default.at("/settings/effective/prefetch"_json_pointer) == 4);
  CHECK(by_default.at("/workload/division"_json_pointer) == "closed");
  const json compiled = measured(folder.path() / "compiled", {"--graph-mode", "compiled"});
  CHECK(compiled.at("/settings/requested/graph_mode"_json_pointer) == "compiled");
  CHECK(compiled.at("/system/software/stub_mode"_json_pointer) == "compiled");
  CHECK(compiled.at("/workload/division"_json_pointer) == "open");

  const Outcome again = run_added({"run", "--from", result_in(folder.path() / "compiled"), "--json",
                                   "--out", (folder.path() / "again").string()});
  REQUIRE(again.code == 0);
  CHECK(json::parse(again.out).at("/settings/effective"_json_pointer) ==
        compiled.at("/settings/effective"_json_pointer));
}

TEST_CASE("rules from a file name their workload, and are no rules of MLPerf", "[added]") {
  const TemporaryFolder folder;
  const json result = measured(folder.path() / "out");
  CHECK(result.at("/workload/name"_json_pointer) == "stub-train");
  CHECK(result.at("/workload/rules_file"_json_pointer) == "stub-train.json");
  CHECK(result.at("/workload/mlperf_equivalent"_json_pointer) == false);
  const Outcome other = run_added({"run", "--rules", kRules, "--workload", "null"});
  CHECK(other.code == 1);
  CHECK_THAT(other.err, Catch::Contains("are for 'stub-train'"));
  CHECK(run_added({"run", "--rules", (folder.path() / "none.json").string()}).code == 1);

  const Outcome checked = run_added({"validate", result_in(folder.path() / "out")});
  CHECK(checked.code == 0);
  CHECK_THAT(checked.out, Catch::Contains("not judged by its rules"));
}

TEST_CASE("an added scenario drives a workload that has never heard of it", "[added]") {
  const TemporaryFolder folder;
  const Outcome run = run_added({"run", "--workload", "null", "--set", "step-ms=0", "--scenario",
                                 "bursts", "--json", "--out", folder.path().string()});
  INFO(run.err);
  REQUIRE(run.code == 0);
  const json result = json::parse(run.out);
  CHECK(result.at("/workload/scenario"_json_pointer) == "bursts");
  CHECK(result.at("/metrics/0/tag"_json_pointer) == "time.burst");
  const std::string file = result_in(folder.path());
  CHECK(run_added({"validate", file}).code == 0);
  const Outcome again = run_added(
      {"run", "--from", file, "--json", "--dry-run", "--out", (folder.path() / "again").string()});
  CHECK(json::parse(again.out).at("/workload/scenario"_json_pointer) == "bursts");
}

TEST_CASE("an undeclared or declared setting keeps two results apart, unless chosen in turns",
          "[added]") {
  const TemporaryFolder folder;
  const std::string eager = (folder.path() / "eager").string();
  const std::string compiled = (folder.path() / "compiled").string();
  const std::string ahead = (folder.path() / "ahead").string();
  measured(eager);
  measured(compiled, {"--graph-mode", "compiled"});
  measured(ahead, {"--prefetch", "8"});
  const Outcome verdict = run_added({"gate", "--baseline", eager, "--candidate", compiled});
  CHECK(verdict.code == 5);
  CHECK_THAT(verdict.out + verdict.err, Catch::Contains("graph_mode"));
  CHECK(run_added({"gate", "--baseline", eager, "--candidate", ahead}).code == 5);
  // The plain program has not heard of the settings: what it does not know keeps apart, too.
  const Outcome plain = run_harness({"gate", "--baseline", eager, "--candidate", compiled});
  CHECK(plain.code == 5);
  CHECK_THAT(plain.out + plain.err, Catch::Contains("graph_mode"));
  CHECK_THAT(run_added({"compare", eager, compiled}).out, Catch::Contains("graph_mode"));
}
