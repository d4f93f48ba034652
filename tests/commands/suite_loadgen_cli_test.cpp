// End to end: `harness suite` in LoadGen's scenarios.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/suite_home.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a suite of LoadGen's scenarios takes LoadGen's figures", "[suite][queries][long]") {
  if (without_loadgen()) return;
  const SuiteHome home;
  const TemporaryFolder before;
  const TemporaryFolder after;
  home.write_queries("1000");
  // On a machine that is busy LoadGen may call a test invalid; what is told of it is exact.
  const Outcome reference = home.suite(before.path());
  CAPTURE(reference.err);
  REQUIRE((reference.code == 0 || reference.code == 3));
  home.write_queries("100", "1.1.0");
  const Outcome outcome =
      home.suite(after.path(), {"--reference", before.path().string(), "--json"});
  CAPTURE(outcome.err);
  REQUIRE((outcome.code == 0 || outcome.code == 3));
  const json suite = json::parse(outcome.out);
  const json slower = read_suite(before.path());
  REQUIRE(suite["tasks"].size() == 4);
  const std::vector<std::string> tags = {"latency.p90", "latency.p99", "throughput.server",
                                         "throughput.offline"};
  std::size_t counted = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const json& task = suite["tasks"][i];
    CAPTURE(task);
    const json run = read_json_file(after / task["run"]["file"].get<std::string>());
    CHECK(task["figure"]["tag"] == tags[i]);
    CHECK(task["figure"]["value"] == run["loadgen"]["figure"]["value"]);
    CHECK(task["figure"]["direction"] == (i < 2 ? "lower" : "higher"));
    // Above 1 is faster, whichever way the figure goes.
    const double now = task["figure"]["value"];
    const double then = slower["tasks"][i]["figure"]["value"];
    const bool counts =
        task["run"]["state"] == "valid" && slower["tasks"][i]["run"]["state"] == "valid";
    CHECK(task["ratio"].is_number() == counts);
    if (counts) CHECK(task["ratio"] == Approx(i < 2 ? then / now : now / then));
    counted += counts ? 1 : 0;
  }
  CHECK(suite["score"]["counted"].size() == counted);
  // All scenarios are the rules' own.
  CHECK(suite["workload"]["division"] == "closed");
  CHECK(home.run({"validate", after.path().string()}).code == outcome.code);
  const fs::path page = after / "page.html";
  REQUIRE(home.run({"report", after.path().string(), "-o", page.string()}).code == 0);
  const std::string html = read_file(page, 1 << 24);
  CHECK_THAT(html, Catch::Contains("Latency, single-stream") &&
                       Catch::Contains("Latency, server") && Catch::Contains("p99.9") &&
                       Catch::Contains("latency.p90 is LoadGen") &&
                       !Catch::Contains("Latency, offline"));
  // Each scenario was run once: there are no set-ups to compare, and scenarios are none.
  CHECK_THAT(html, !Catch::Contains("Set-ups side by side"));
}
