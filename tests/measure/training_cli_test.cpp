// End to end: training to a target by the null workload; stopped, killed, resumed.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "harness/base/files.hpp"
#include "harness/measure/saved_json.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"
#include "tests/support/training_runs.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a series trains to its target, logs, and is valid", "[training][cli]") {
  const TemporaryFolder out;
  const Outcome outcome = run_harness(training(out.path(), {"--runs", "3"}));
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, HasLines({"target reached     3 of 3 runs*"}));
  CHECK_THAT(outcome.out, Catch::Contains("mean without the fastest and the slowest"));
  CHECK_THAT(outcome.out, HasLines({"trained  4 epochs of at most 5*"}));
  const std::vector<json> results = results_in(out.path());
  REQUIRE(results.size() == 3);
  for (const json& result : results) {
    CHECK(result["status"]["state"] == "valid");
    CHECK(result["workload"]["division"] == "closed");
    CHECK(result["workload"]["scenario"] == "epochs");
    CHECK(result["training"]["target_reached"] == true);
    CHECK(result["training"]["epochs"] == 4);
    CHECK(result["training"]["steps"] == 40);
    CHECK(result["quality"]["value"] == 0.6);
  }
  CHECK(results[0]["seeds"]["run"] != results[1]["seeds"]["run"]);
  check_log_passes(out.path());
  CHECK(is_clean(out.path()));
  for (const fs::path& file : files_ending(out.path(), ".json")) {
    CHECK(run_harness({"validate", file.string()}).code == 0);
  }
}

TEST_CASE("a target that is missed aborts the run with exit code 3", "[training][cli]") {
  const TemporaryFolder out;
  const Outcome outcome = run_harness(training(out.path(), {"--runs", "1", "--max-epochs", "2"}));
  CHECK(outcome.code == 3);
  const json result = results_in(out.path()).at(0);
  CHECK(result["status"]["state"] == "aborted");
  CHECK(result["status"]["violations"][0]["rule"] == "converged");
  CHECK(result["workload"]["division"] == "open");
  const std::string log = read_file(files_ending(out.path(), ".log").at(0), 1 << 20);
  CHECK_THAT(log, Catch::Contains(R"("status":"aborted")"));
  CHECK(is_clean(out.path()));
  const Outcome validated =
      run_harness({"validate", files_ending(out.path(), ".json").at(0).string()});
  CHECK_THAT(validated.out, Catch::Contains(".json: sound file of a run that missed its target"));
}

TEST_CASE("a loss that is not a number aborts at once and names the step", "[training][cli]") {
  const TemporaryFolder out;
  const Outcome outcome =
      run_harness(training(out.path(), {"--runs", "1", "--set", "losses=1,1,nan"}));
  CHECK(outcome.code == 3);
  const json result = results_in(out.path()).at(0);
  CHECK_THAT(result["status"]["violations"][0]["actual"].get<std::string>(),
             Catch::EndsWith("not a number at step 3"));
  CHECK(result["training"]["steps"] == 3);
}

TEST_CASE("targets and epochs that make no sense are refused", "[training][cli]") {
  const TemporaryFolder folder;
  const fs::path out = folder / "out";
  check_one_error(run_harness(training(out, {"--max-epochs", "0"})), 1, "--max-epochs 0");
  check_one_error(run_harness({"run", "--workload", "null", "--max-epochs", "3"}), 1,
                  "counts no epochs");
  check_one_error(run_harness({"run", "--workload", "null", "--scenario", "epochs"}), 1,
                  "--scenario epochs: tier 'quick' of 'null' does not serve it");
  check_one_error(run_harness(training(out, {"--scenario", "step"})), 1, "did you mean steps?");
  const Outcome no_epochs = run_harness(training(out, {"--runs", "1", "--set", "epoch-steps=0"}));
  CHECK(no_epochs.code == 1);
  CHECK(error_lines(no_epochs) ==
        std::vector<std::string>{
            "harness: run: the workload has no epochs to train in (choose another tier)"});
  CHECK_FALSE(fs::exists(out / "series.state"));
  // Nothing was measured, so nothing is left to go on with.
  check_one_error(run_harness({"run", "--resume", out.string()}), 1, "there is no such folder");
  check_one_error(run_harness({"run", "--resume", out.string(), "--runs", "3"}), 1,
                  "takes no other options");
}

TEST_CASE("killed at any moment, a resumed run has the losses of one never killed",
          "[training][cli][kill]") {
  const std::vector<std::string> settings = {
      "--runs", "1",         "--seed", "7",
      "--set",  "step-ms=4", "--set",  "losses=0.1,0.7,0.3,0.9,0.11,0.13,0.17"};
  const TemporaryFolder whole;
  REQUIRE(run_harness(training(whole.path(), settings)).code == 0);
  const std::vector<double> expected = losses_by_step(whole.path());
  REQUIRE(expected.size() == 40);
  std::mt19937 random(20261121);
  int resumed = 0;
  for (int round = 0; round < 20; ++round) {
    const TemporaryFolder out;
    Process process(training(out.path(), settings));
    // Half of the kills come after the first step; the others anywhere from the start on.
    if (round % 2 == 0) wait_for_first_step(out.path());
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 170));
    process.signal(SIGKILL);
    process.wait();
    if (files_ending(out.path(), ".json").empty() && fs::exists(out / "series.state")) {
      const Outcome outcome = run_harness({"run", "--resume", out.path().string()});
      CAPTURE(round, outcome.out, outcome.err);
      REQUIRE(outcome.code == 0);
      const std::vector<json> results = results_in(out.path());
      REQUIRE(results.size() == 1);
      if (!results[0]["training"]["resumed"].empty()) {
        ++resumed;
        CHECK(losses_by_step(out.path()) == expected);
        CHECK(results[0]["workload"]["division"] == "open");
      }
      CHECK(results[0]["training"]["epochs"] == 4);
      check_log_passes(out.path());
      CHECK(is_clean(out.path()));
      CHECK(run_harness({"validate", files_ending(out.path(), ".json").at(0).string()}).code == 0);
    }
  }
  CHECK(resumed >= 5);
}

TEST_CASE("a series that is stopped between two runs says how to go on", "[training][cli][kill]") {
  const TemporaryFolder out;
  Process process(training(out.path(), {"--runs", "2", "--pause", "60"}));
  wait_until([&] { return !files_ending(out.path(), ".json").empty(); });
  process.signal(SIGINT);
  const Outcome stopped = process.wait();
  CAPTURE(stopped.out, stopped.err);
  CHECK(stopped.code == 2);
  CHECK_THAT(stopped.err, Catch::Contains("--resume " + out.path().string()));
}

TEST_CASE("an interrupted series says so and goes on where it was", "[training][cli][kill]") {
  const TemporaryFolder out;
  Process process(training(out.path(), {"--runs", "3", "--set", "step-ms=20"}));
  // In the middle of the second run: between two runs another line would come.
  wait_until([&] {
    const std::vector<fs::path> samples = files_ending(out.path(), ".jsonl");
    return samples.size() == 2 && std::all_of(samples.begin(), samples.end(), [](const auto& file) {
             return read_file(file, 64 << 20).find("\"event\":\"step\"") != std::string::npos;
           });
  });
  process.signal(SIGINT);
  const Outcome stopped = process.wait();
  CHECK(stopped.code == 2);
  CHECK(stop_lines(stopped).size() == 1);  // of the run's own process, none of the series'
  CHECK_THAT(stopped.err, Catch::Contains("--resume " + out.path().string()));
  check_one_error(run_harness(training(out.path())), 1, "an unfinished series lies there");
  const Outcome outcome = run_harness({"run", "--resume", out.path().string()});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const std::vector<json> results = results_in(out.path());
  REQUIRE(results.size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(results[i]["identity"]["run_index"] == i + 1);
    CHECK(results[i]["status"]["state"] == "valid");
  }
  CHECK(is_clean(out.path()));
}

TEST_CASE("a run that has its result is never measured again", "[training][cli][kill]") {
  const TemporaryFolder out;
  // As if killed between the result and the end of the series.
  const auto arguments = training(out.path(), {"--runs", "2"});
  REQUIRE(run_harness(arguments).code == 0);
  const std::vector<json> before = results_in(out.path());
  json state = {{"format", "harness-series/1"},
                {"program", run_harness({"--version"}).out},
                {"arguments", std::vector<std::string>(arguments.begin() + 1, arguments.end())},
                {"series_id", before[0]["identity"]["series_id"]},
                {"seed", 1},
                {"working_folder", "/"}};
  std::string program = state["program"];
  program.pop_back();  // the newline
  state["program"] = program;
  write_saved_json(out / "series.state", state);
  std::ofstream(out / "notes.json") << "{}";  // of somebody else
  const Outcome outcome = run_harness({"run", "--resume", out.path().string()});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("2 results in "));
  fs::remove(out / "notes.json");
  CHECK(results_in(out.path()) == before);
  CHECK(is_clean(out.path()));
}

TEST_CASE("two runs do not share a folder", "[training][cli]") {
  const TemporaryFolder out;
  Process process(training(out.path(), {"--runs", "1", "--set", "step-ms=50"}));
  wait_for_first_step(out.path());
  check_one_error(run_harness(training(out.path())), 1, "another run is at work");
  check_one_error(run_harness({"run", "--resume", out.path().string()}), 1,
                  "another run is at work");
  process.signal(SIGKILL);
  process.wait();
}

TEST_CASE("a full disk leaves the state before", "[training][cli]") {
  const TemporaryFolder folder;
  const TemporaryFolder temporary;
  // Samples and log outgrow 8 KiB after some epochs; the states before that are there.
  const Outcome outcome = run_on_full_disk(
      training(folder / "out", {"--runs", "1", "--set", "step-ms=2", "--set", "epoch-steps=200"}),
      temporary.path());
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code != 0);
  CHECK(fs::exists(folder / "out" / "series.state"));
  const Outcome resumed = run_harness({"run", "--resume", (folder / "out").string()});
  CAPTURE(resumed.out, resumed.err);
  CHECK(resumed.code == 0);
  CHECK(results_in(folder / "out").at(0)["training"]["epochs"] == 4);
}
