// End to end: `harness ablate` that fails, is stopped, or killed.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <random>
#include <thread>

#include "tests/support/ablate_null.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

void wait_for_first_turn(const fs::path& out) {
  wait_for_line(out, ".jsonl", "\"event\":\"turn\"");
}

}  // namespace

TEST_CASE("a variant that fails half way leaves an aborted file, one that cannot start none",
          "[ablate]") {
  const TemporaryFolder out;
  // Two steps of warm-up, and two rounds of one step.
  const Outcome failed = ablate_once(out / "a.json", {"--set", "fail-at=5"});
  CAPTURE(failed.err);
  CHECK(failed.code == 2);
  CHECK_THAT(failed.err, Catch::Contains(", cluster 1: it says: null: told to fail at step 5"));
  const json ablation = read_ablation(out / "a.json");
  CHECK(ablation["status"]["state"] == "aborted");
  CHECK(ablation["variants"][4]["turns"].size() == 2);
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 3);
  const Outcome outcome = ablate_once(out / "b.json", {"--set", "fail-prepare=yes"});
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.err, Catch::Contains("told to fail while preparing"));
  CHECK_FALSE(fs::exists(out / "b.json"));
}

TEST_CASE("Ctrl-C ends an ablation cleanly with the rounds that were finished", "[ablate]") {
  const TemporaryFolder out;
  Process process(ablate_null(out / "a.json", {"--rounds", "1000", "--set", "step-ms=5"}));
  wait_for_line(out.path(), ".jsonl", "\"round\":3");
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  const json ablation = read_ablation(out / "a.json");
  CHECK(ablation["status"]["state"] == "aborted");
  const std::size_t rounds = ablation["variants"][0]["turns"].size();
  std::int64_t last = 0;
  for (const json& line : lines_of(out / "a.jsonl")) {
    if (line["event"] == "turn") last = line["round"];
  }
  CHECK(
      (last == static_cast<std::int64_t>(rounds) || last == static_cast<std::int64_t>(rounds) + 1));
  const Outcome validation = run_harness({"validate", (out / "a.json").string()});
  CHECK_THAT(validation.out, Catch::Contains("sound file of an aborted run"));
  CHECK(validation.code == 3);
}

TEST_CASE("an ablation that is stopped in its first cluster says so, and nothing false",
          "[ablate]") {
  const TemporaryFolder out;
  json rules = read_ablation(home_folder() / "rules/null.json");
  rules["closed"].push_back(
      {{"rule", "script"}, {"path", "/hyperparameters/script"}, {"op", "present"}});
  std::ofstream(out / "rules.json") << rules;
  const std::vector<std::string> asked = {"ablate",    "--rules", (out / "rules.json").string(),
                                          "--rounds",  "1000",    "--set",
                                          "step-ms=5", "--out",   (out / "a.json").string()};
  Process process(asked);
  wait_for_line(out.path(), ".jsonl", "\"round\":3");
  process.signal(SIGTERM);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  const json ablation = read_ablation(out / "a.json");
  CHECK(ablation["status"]["state"] == "aborted");
  REQUIRE(ablation["status"]["violations"].size() == 1);
  CHECK(ablation["status"]["violations"][0]["actual"] == "stopped in cluster 1 of 6");
  for (const json& departure : ablation["workload"]["departures"]) {
    CHECK(departure["path"] == "/workload/rules_file");
  }
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 3);
}

TEST_CASE("who came to its end before an ablation was stopped keeps its quality", "[ablate]") {
  const TemporaryFolder out;
  fs::create_directory(out / "work");
  Process process(ablate_null(out / "a.json", {"--rounds", "2", "--variants", "pooled,nothing",
                                               "--set", "evaluation-ms=4000"}),
                  {"TMPDIR=" + (out / "work").string()});
  wait_for_first_turn(out.path());
  const auto ended = [&] {
    const auto entries = fs::recursive_directory_iterator(out / "work");
    return std::any_of(begin(entries), end(entries), [](const fs::directory_entry& entry) {
      return entry.path().extension() == ".json";
    });
  };
  while (process.running() && !ended()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  const json variants = read_ablation(out / "a.json")["variants"];
  CHECK(variants[0]["quality_passed"] == true);
  CHECK(variants[1]["quality"].is_null());
  CHECK(variants[1]["turns"].size() == 2);
  const Outcome validation = run_harness({"validate", (out / "a.json").string()});
  CHECK_THAT(validation.out, Catch::Contains("sound file of an aborted run"));
}

TEST_CASE("kill -9 loses no completed turn of an ablation", "[ablate]") {
  std::mt19937 random(7);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const TemporaryFolder out;
    Process process(ablate_null(out / "a.json", {"--rounds", "1000"}),
                    {"TMPDIR=" + out.path().string()});
    wait_for_first_turn(out.path());
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));
    process.signal(SIGKILL);
    process.wait();
    CHECK_FALSE(fs::exists(out / "a.json"));
    CHECK(files_ending(out.path(), ".tmp").empty());
    std::size_t turns = 0;
    for (const json& line : lines_of(out / "a.jsonl")) {  // each of them whole
      if (line["event"] == "turn") CHECK(line["round"] == turns++ / 5 + 1);
    }
    CHECK(turns > 0);
  }
}

TEST_CASE("a full disk costs an ablation neither its summary nor what was measured", "[ablate]") {
  const TemporaryFolder out;
  const Outcome outcome =
      run_on_full_disk(ablate_null(out / "a.json", {"--rounds", "100"}), out.path());
  CAPTURE(outcome.out, outcome.err);
  CHECK((outcome.code == 1 || outcome.code == 2));
  CHECK_THAT(outcome.err, Catch::Contains("harness: "));
  CHECK(files_ending(out.path(), ".tmp").empty());
  CHECK_FALSE(fs::exists(out / "a.json"));
  CHECK_FALSE(lines_of(out / "a.jsonl").empty());
  CHECK_THAT(outcome.out, Catch::Contains("out-of-the-box"));
}
