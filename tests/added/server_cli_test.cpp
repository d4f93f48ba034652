// Rates of queries that a server does not hold, over a workload that sleeps.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/added/run_added.hpp"
#include "tests/added/stub_queries.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/suite_home.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

TEST_CASE("a rate that no machine holds is refused or found invalid", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  for (const char* runs : {"1", "2"}) {
    check_one_error(run_added(queries_command(
                        "server", folder / "absurd",
                        {"--server-rate", "1e9", "--min-seconds", "600", "--runs", runs})),
                    1, "--server-rate 1e+09: 6e+11 queries are made before the test begins");
    CHECK_FALSE(std::filesystem::exists(folder / "absurd"));
  }
  const Outcome endless =
      run_added(queries_command("server", folder / "endless", {"--server-rate", "0.001"}));
  check_one_error(endless, 1, "the tier allows");
  // 4 samples at a time take 0.8 ms: 5000 a second.
  const Outcome high =
      run_added(queries_command("server", folder / "high", {"--server-rate", "20000"}));
  CHECK(high.code == 3);
  CHECK(result_in(folder / "high").at("/loadgen/validity"_json_pointer) == "invalid");
}

TEST_CASE("a server that holds no rate is tested once", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  json rules = read_json(kStubRules);
  rules["tiers"]["quick"]["scenarios"]["server"]["latency_bound_ms"] = 1;
  std::ofstream(folder / "rules.json") << rules;
  const Outcome outcome =
      run_added({"run", "--rules", (folder / "rules.json").string(), "--scenario", "server",
                 "--set", "query-us=2000", "--out", (folder / "out").string()});
  INFO(outcome.err);
  CHECK(outcome.code == 3);
  CHECK_THAT(outcome.err, Catch::Contains("no rate was held, down to "));
  const json loadgen = result_in(folder / "out").at("loadgen");
  CHECK(loadgen.at("validity") == "invalid");
  CHECK(loadgen.value("repeated", json::array()).empty());
  for (const json& probe : loadgen.at("search")) CHECK(probe.at("met") == false);
}
