// End to end: sums over ranks are measured, and a profile is projected on more of them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/profile_of_null.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training_runs.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a profile is projected on more ranks by a measured network",
          "[ranks][projection][long]") {
  const TemporaryFolder folder;
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", "--workload", "allreduce", "--steps", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_harness(arguments);
  };
  CHECK(refusal_in(run({"--out", (folder / "one").string()})).names("--ranks"));
  for (const char* sizes : {"0", "2", "1026", "x", "", "1024,1024", "8589934592"}) {
    INFO(sizes);
    CHECK_FALSE(
        refusal_in(run({"--ranks", "2", "--set", std::string("sizes=") + sizes})).about.empty());
  }
  const Outcome network = run({"--ranks", "2", "--oversubscribe", "--out",
                               (folder / "net").string(), "--set", "sizes=1024,1048576,8388608"});
  CAPTURE(network.out, network.err);
  REQUIRE(network.code == 0);
  const fs::path sums = only_file(folder / "net", ".json");
  CHECK(read_json(sums)["quality"]["value"] == 0);

  REQUIRE(run_harness(profile_null(folder / "profile")).code == 0);
  const fs::path profile = only_file(folder / "profile", ".json");
  REQUIRE(read_json(profile)["gradients"].size() == 3);
  const auto project = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"project", profile.string(), "--rounds", "1", "--no-measure",
                               "--out", (folder / "projection").string()});
    return run_harness(more);
  };
  CHECK(refusal_in(project({"--set", "ranks=4"})).names("--network"));
  CHECK(refusal_in(project({"--network", sums.string()})).names("--set"));
  for (const char* ranks : {"ranks=1", "ranks=65537", "ranks=x", "ranks="}) {
    INFO(ranks);
    CHECK_THAT(refusal_in(project({"--set", ranks, "--network", sums.string()})).about,
               Catch::StartsWith(std::string("--set ") + ranks));
  }
  CHECK_FALSE(
      refusal_in(project({"--set", "ranks=4", "--network", profile.string()})).about.empty());
  CHECK(refusal_in(project({"--set", "ranks=4", "--network", "no-such-file.json"})).about ==
        "no-such-file.json");

  const Outcome text = project({"--set", "ranks=1000", "--network", sums.string()});
  CAPTURE(text.out, text.err);
  CHECK(text.code == 0);
  CHECK_THAT(text.out, Catch::Contains("1000") && Catch::Contains("simulation"));
  const Outcome outcome = project({"--set", "ranks=1000", "--network", sums.string(), "--json"});
  REQUIRE(outcome.code == 0);
  // With other changes one rank's step is projected first.
  const Outcome both = project(
      {"--set", "ranks=2", "--set", "precision=bf16", "--network", sums.string(), "--json"});
  CAPTURE(both.err);
  REQUIRE(both.code == 0);
  const json changed = json::parse(both.out);
  CHECK(changed["world"]["ring"][0]["seconds"].get<double>() ==
        Approx(changed["projected_seconds"].get<double>() +
               changed["world"]["ring"][0]["exposed_seconds"].get<double>()));
  const json report = json::parse(outcome.out);
  const json& world = report["world"];
  CHECK(world["network"]["ranks"] == 2);
  CHECK(world["gradient_bytes"] == 16e6);
  REQUIRE(world["ring"].size() == 10);
  CHECK(world["ring"].back()["ranks"] == 1000);
  for (const char* algorithm : {"ring", "tree"}) {
    for (const json& step : world[algorithm]) {
      CHECK(step["seconds"].get<double>() == Approx(report["recorded_seconds"].get<double>() +
                                                    step["exposed_seconds"].get<double>()));
      CHECK(step["under_way_seconds"].get<double>() >= step["exposed_seconds"].get<double>());
    }
  }
}
