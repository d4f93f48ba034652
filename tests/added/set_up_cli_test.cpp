// A run's set-up chosen by measuring, over a workload that sleeps: precision, campaigns, stops.
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/check/checked_file.hpp"
#include "harness/result/digest.hpp"
#include "tests/added/run_added.hpp"
#include "tests/added/stub_queries.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/suite_home.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Of a campaign with these options of its sides, stopped when so many runs have ended; those that
/// were not stopped. The workload is twice as fast in bf16.
std::vector<json> campaign_results(const std::string& baseline, const std::string& candidate,
                                   std::size_t count) {
  const TemporaryFolder folder;
  json rules = read_json(kStubRules);
  json& offline = rules["tiers"]["quick"]["scenarios"]["offline"];
  offline.update({{"search_seconds", 1}, {"any_batch_size", true}});
  std::ofstream(folder / "rules.json") << rules;
  const fs::path program = fs::path(harness_program()).parent_path() / "harness_added";
  // The gate knows a run's command by the name of its program.
  fs::create_symlink(program, folder / "harness");
  const std::string side = (folder / "harness").string() + " run --rules " +
                           (folder / "rules.json").string() +
                           " --scenario offline --set overhead-us=5000" +
                           " --set query-us=2000 --set narrow-query-us=1000";
  Process gate({"gate", "--allow-debug", "--ab-base", side + baseline, "--ab-cand",
                side + candidate, "--out", (folder / "out").string()},
               {}, {}, program.string());
  const auto ended = [&] {
    std::vector<json> runs;
    for (const char* which : {"baseline", "candidate"}) {
      if (!fs::is_directory(folder / "out" / which)) continue;
      for (const std::string& file : result_files_below((folder / "out" / which).string())) {
        json run = read_json(file);
        if (run["status"]["state"] != "aborted") runs.push_back(std::move(run));
      }
    }
    return runs;
  };
  wait_until([&] { return ended().size() >= count; });
  gate.signal(SIGINT);
  CHECK(gate.wait().code == 2);
  return ended();
}

}  // namespace

TEST_CASE("a precision is chosen by measuring, where a quality is held", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  json rules = read_json(kStubRules);
  rules["tiers"]["quick"]["scenarios"]["single-stream"]["search_seconds"] = 2;
  const auto run = [&](const fs::path& out, const std::vector<std::string>& more, int code = 0) {
    const std::string file = (folder / "rules.json").string();
    std::ofstream(file) << rules;
    std::vector<std::string> arguments{
        "run", "--rules", file,         "--scenario", "single-stream", "--threads",
        "1",   "--out",   out.string(), "--set",      "query-us=1000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_added(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.code == code);
    CHECK(run_added({"validate", only_file(out, ".json").string()}).code == code);
    return result_in(out);
  };
  const json faster = run(folder / "faster", {"--set", "narrow-query-us=300"});
  CHECK(faster["settings"]["effective"]["precision"] == "bf16");
  const json& trials = faster["loadgen"]["set_up"]["trials"];
  REQUIRE(trials.size() == 2);
  CHECK(trials[0]["precision"] == "fp32");
  CHECK(trials[1]["precision"] == "bf16");
  CHECK(faster["loadgen"]["figure"]["value"] < 0.0009);

  const json slower = run(folder / "slower", {"--set", "narrow-query-us=2000"});
  CHECK(slower["settings"]["effective"]["precision"] == "fp32");
  CHECK(slower["loadgen"]["set_up"]["trials"].size() == 2);

  const json asked = run(folder / "asked", {"--set", "narrow-query-us=300", "--precision", "fp32"});
  CHECK(asked["settings"]["effective"]["precision"] == "fp32");
  CHECK_FALSE(asked["loadgen"].contains("set_up"));

  const json worse =
      run(folder / "worse", {"--set", "narrow-query-us=300", "--set", "narrow-wrong=50"}, 3);
  CHECK_THAT(worse["status"]["recommendations"].dump(),
             Catch::Contains("--precision fp32 measures without it"));

  json forged = faster;
  forged["loadgen"]["set_up"]["trials"][0]["samples_per_second"] = 1e9;
  forged["digest"] = digest_of(forged);
  std::ofstream(folder / "forged.json") << forged;
  const Outcome refused = run_added({"validate", (folder / "forged.json").string()});
  CHECK(refused.code == 3);
  CHECK_THAT(refused.out, Catch::Contains("/settings/effective/precision"));

  rules["closed"] = {{{"rule", "exact"},
                      {"path", "/settings/effective/precision"},
                      {"op", "equals"},
                      {"value", "fp32"}}};
  const json held = run(folder / "held", {"--set", "narrow-query-us=300"});
  CHECK(held["settings"]["effective"]["precision"] == "fp32");
  rules.erase("closed");

  // What is lost by fewer bits would not show.
  rules.erase("quality");
  const json unjudged = run(folder / "unjudged", {"--set", "narrow-query-us=300"});
  CHECK(unjudged["settings"]["effective"]["precision"] == "fp32");
}

TEST_CASE("the runs of a campaign take what the first of them chose", "[queries][gate]") {
  if (without_loadgen()) return;
  const std::vector<json> results = campaign_results("", "", 3);
  int choosers = 0;
  std::vector<json> set_ups;
  for (const json& result : results) {
    const json& set_up = result["loadgen"]["set_up"];
    if (!set_up.contains("from")) ++choosers;
    set_ups.push_back(set_up["trials"]);
  }
  CHECK(choosers == 1);
  REQUIRE(set_ups.size() >= 3);
  for (const json& set_up : set_ups) CHECK(set_up == set_ups[0]);
}

TEST_CASE("what one side of a campaign was told, the other does not take for a choice",
          "[queries][gate]") {
  if (without_loadgen()) return;
  int told = 0;
  for (const json& result : campaign_results(" --precision fp32", "", 2)) {
    if (result["settings"]["requested"].contains("precision")) ++told;
    const bool free = !result["settings"]["requested"].contains("precision");
    CHECK(result["settings"]["effective"]["precision"] == (free ? "bf16" : "fp32"));
  }
  CHECK(told >= 1);
}

TEST_CASE("Ctrl-C while threads and batch size are chosen ends the run at once", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  json rules = read_json(kStubRules);
  rules["tiers"]["quick"]["scenarios"]["offline"].update(
      {{"search_seconds", 600}, {"any_batch_size", true}});
  const std::string file = (folder / "rules.json").string();
  std::ofstream(file) << rules;
  const fs::path program = fs::path(harness_program()).parent_path() / "harness_added";
  Process process({"run", "--rules", file, "--scenario", "offline", "--out",
                   (folder / "out").string(), "--set", "query-us=200000"},
                  {}, {}, program.string());
  const std::string children = "/proc/" + std::to_string(process.id()) + "/task/" +
                               std::to_string(process.id()) + "/children";
  wait_until([&] {
    pid_t child = 0;
    return static_cast<bool>(std::ifstream(children) >> child);
  });
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CHECK(outcome.code == 2);
  CHECK(files_ending(folder / "out", ".json").empty());
}
