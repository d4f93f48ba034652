// End to end: the small RetinaNet trained from random weights with an evaluation after each epoch;
// killed and resumed; and the full benchmark's tier `submission` on a folder of few pictures.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "harness/base/files.hpp"
#include "tests/support/coco_folder.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> training(const char* workload, const CocoFolder& data, const fs::path& out,
                                  const std::vector<std::string>& more) {
  // One thread: tests run side by side, and threads that spin while they wait take long then.
  std::vector<std::string> arguments = {
      "run",          "--workload", workload, "--data", data.path(), "--out", out.string(),
      "--batch-size", "2",          "--runs", "1",      "--threads", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json result_in(const fs::path& folder) {
  const std::vector<fs::path> files = files_ending(folder, ".json");
  REQUIRE(files.size() == 1);
  return json::parse(read_file(files.front(), 64 << 20));
}

std::vector<std::string> losses_in(const fs::path& folder) {
  std::vector<std::string> losses;
  for (const json& line : lines_of(files_ending(folder, ".jsonl").at(0))) {
    if (line["event"] == "step") losses.push_back(line["losses"].dump());
  }
  return losses;
}

std::vector<double> qualities_in(const json& result, const std::string& tag) {
  std::vector<double> values;
  for (const json& metric : result["metrics"]) {
    if (metric["tag"] != tag) continue;
    for (const json& sample : metric["samples"]) values.push_back(sample["value"]);
  }
  return values;
}

}  // namespace

TEST_CASE("the small RetinaNet trains, evaluates after each epoch, and logs", "[train][mini]") {
  const CocoFolder data;
  const TemporaryFolder out;
  const Outcome outcome = run_harness(training(
      "retinanet-mini-train", data, out.path(),
      {"--quality-target", "0.99", "--max-epochs", "3", "--precision", GENERATE("fp32", "bf16")}));
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 3);
  const json result = result_in(out.path());
  CHECK(result["status"]["state"] == "aborted");
  CHECK(result["training"]["epochs"] == 3);
  CHECK(result["training"]["samples"] == 36);
  CHECK(result["hyperparameters"]["norm_calibration_images"] == "64");
  const std::vector<double> quality = qualities_in(result, "quality.mAP");
  REQUIRE(quality.size() == 3);
  for (const double value : quality) CHECK((value >= 0 && value <= 1));
  CHECK(qualities_in(result, "quality.ap_50").size() == 3);
  CHECK(qualities_in(result, "time.evaluation").size() == 3);
  const std::vector<std::string> losses = losses_in(out.path());
  REQUIRE(losses.size() == 18);
  const auto total = [&](std::size_t i) { return json::parse(losses[i])["total"].get<double>(); };
  CHECK(total(16) + total(17) < total(0) + total(1));
  const std::string log = read_file(files_ending(out.path(), ".log").at(0), 1 << 20);
  CHECK_THAT(log, Catch::Contains(R"("key":"train_samples","value":12)"));
  CHECK_THAT(log, Catch::Contains(R"("key":"eval_samples","value":4)"));
  CHECK_THAT(log, Catch::Contains(R"("value":"retinanet-mini-train")"));
  CHECK(run_harness({"check-log", files_ending(out.path(), ".log").at(0).string()}).code == 0);
}

TEST_CASE("a run without a target to train to measures steps of the small RetinaNet",
          "[train][mini]") {
  const CocoFolder data;
  const TemporaryFolder out;
  const Outcome outcome = run_harness(
      training("retinanet-mini-train", data, out.path(), {"--tier", "quick", "--dry-run"}));
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(result_in(out.path())["quality"]["metric"] == "golden-parity");
}

TEST_CASE("weights that a training kept detect what it detected", "[train][mini][detect]") {
  const CocoFolder data;
  const TemporaryFolder out;
  const Outcome trained = run_harness(training("retinanet-mini-train", data, out / "trained",
                                               {"--quality-target", "0.99", "--max-epochs", "2",
                                                "--keep-weights", "yes", "--precision", "fp32"}));
  CAPTURE(trained.out, trained.err);
  REQUIRE(trained.code == 3);
  const fs::path weights = files_ending(out / "trained", ".safetensors").at(0);
  CHECK_THAT(trained.out, Catch::Contains("weights  " + weights.string()));
  const json result = result_in(out / "trained");
  CHECK_THAT(read_file(weights, 64 << 20),
             Catch::Contains(result["identity"]["uuid"].get<std::string>()));
  const Outcome found = run_harness({"run", "--workload", "detect", "--data", data.path(), "--set",
                                     "weights=" + weights.string(), "--steps", "4", "--threads",
                                     "1", "--out", (out / "found").string()});
  CAPTURE(found.err);
  CHECK(found.code == 0);  // of other pictures no target is asked
  const json quality = result_in(out / "found")["quality"];
  CHECK(quality["metric"] == "mAP");
  CHECK(quality["value"].get<double>() ==
        Approx(qualities_in(result, "quality.mAP").back()).margin(1e-6));
}

TEST_CASE("weights are kept where something is trained to a target", "[train][mini]") {
  const TemporaryFolder out;
  const Outcome steps = run_harness({"run", "--workload", "retinanet-mini-train", "--tier", "quick",
                                     "--keep-weights", "yes", "--out", out.path().string()});
  CHECK(steps.code == 1);
  CHECK_THAT(steps.err, Catch::StartsWith("harness: --keep-weights: does nothing"));
  const Outcome none = run_harness({"run", "--workload", "null", "--keep-weights", "yes"});
  CHECK(none.code == 1);
  CHECK_THAT(none.err, Catch::StartsWith("harness: --keep-weights 'yes': unknown"));
}

TEST_CASE("killed at random moments, a resumed training has the same losses bit for bit",
          "[train][mini][kill][long]") {
  const CocoFolder data;
  const std::vector<std::string> settings = {"--seed", "11",           "--quality-target",
                                             "0.99",   "--max-epochs", "4"};
  const TemporaryFolder whole;
  const Outcome uninterrupted =
      run_harness(training("retinanet-mini-train", data, whole.path(), settings));
  REQUIRE(uninterrupted.code == 3);
  const std::vector<std::string> expected = losses_in(whole.path());
  REQUIRE(expected.size() == 24);
  const json expected_result = result_in(whole.path());
  std::mt19937 random(5);
  int resumed = 0;
  // Each takes some seconds; HARNESS_TEST_KILLS asks for another number than the suite's.
  const char* kills = std::getenv("HARNESS_TEST_KILLS");
  const int rounds = kills == nullptr ? 6 : std::max(6, std::atoi(kills));
  for (int round = 0; round < rounds; ++round) {
    const TemporaryFolder out;
    Process process(training("retinanet-mini-train", data, out.path(), settings));
    wait_for_first_step(out.path());
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 500));
    process.signal(round % 3 == 0 ? SIGINT : SIGKILL);
    process.wait();
    if (!fs::exists(out / "series.state")) continue;  // it was over already
    const Outcome outcome = run_harness({"run", "--resume", out.path().string()});
    CAPTURE(round, outcome.out, outcome.err);
    REQUIRE(outcome.code == 3);
    const json result = result_in(out.path());
    CHECK(qualities_in(result, "quality.mAP") == qualities_in(expected_result, "quality.mAP"));
    CHECK(qualities_in(result, "loss.total") == qualities_in(expected_result, "loss.total"));
    if (result["training"]["resumed"].empty()) continue;
    ++resumed;
    CHECK(losses_in(out.path()) == expected);
  }
  CHECK(resumed >= rounds / 4);
}

TEST_CASE("the full benchmark trains to a target on a COCO folder", "[train][submission][long]") {
  const CocoFolder data;
  const TemporaryFolder out;
  const Outcome outcome = run_harness(
      training("retinanet-train", data, out.path(),
               {"--tier", "submission", "--set", "image-size=128x128", "--max-epochs", "2"}));
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 3);
  const json result = result_in(out.path());
  CHECK(result["training"]["epochs"] == 2);
  CHECK(result["quality"]["metric"] == "mAP");
  CHECK(result["quality"]["target"] == 0.34);
  CHECK(result["workload"]["division"] == "open");
  CHECK(result["workload"]["mlperf_equivalent"] == false);
  std::vector<std::string> departures;
  for (const json& departure : result["workload"]["departures"]) {
    departures.push_back(departure["path"]);
  }
  for (const char* path : {"/data/name", "/data/details/train_images", "/weights/0/sha256",
                           "/settings/effective/set/image-size"}) {
    CHECK(std::count(departures.begin(), departures.end(), path) == 1);
  }
  // MLPerf leaves the batch size to the submitter.
  CHECK(std::count(departures.begin(), departures.end(), "/settings/effective/batch_size") == 0);
  CHECK(run_harness({"check-log", files_ending(out.path(), ".log").at(0).string()}).code == 0);
}

TEST_CASE("an evaluation split without a box is refused before anything is trained",
          "[train][mini]") {
  const CocoFolder data;
  json document = json::parse(read_file(data.annotations("val"), 1 << 20));
  SECTION("no boxes") { document["annotations"] = json::array(); }
  SECTION("no pictures") {
    document["annotations"] = json::array();
    document["images"] = json::array();
  }
  std::ofstream(data.annotations("val")) << document;
  const TemporaryFolder out;
  const Outcome outcome = run_harness(training("retinanet-mini-train", data, out.path(), {}));
  CHECK(outcome.code == 1);
  REQUIRE(error_lines(outcome).size() == 1);
  CHECK_THAT(error_lines(outcome).front(), Catch::Contains("images") || Catch::Contains("box"));
  CHECK(files_ending(out.path(), ".state").empty());
}
