// End to end: the small RetinaNet trained by two ranks is the one that a single process trains.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "harness/base/files.hpp"
#include "tests/support/coco_folder.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/rank_process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training_runs.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> training(const CocoFolder& data, const fs::path& out, int ranks,
                                  const std::string& rate = "1e-3", const char* epochs = "3") {
  return {"run",
          "--workload",
          "retinanet-mini-train",
          "--data",
          data.path(),
          "--out",
          out.string(),
          "--ranks",
          std::to_string(ranks),
          "--batch-size",
          std::to_string(4 / ranks),
          "--runs",
          "1",
          "--threads",
          "1",
          "--oversubscribe",
          "--seed",
          "11",
          "--quality-target",
          "0.99",
          "--max-epochs",
          epochs,
          "--set",
          "learning-rate=" + rate};
}

/// The samples of the first rank, which speaks for all.
fs::path samples_in(const fs::path& folder) {
  for (const fs::path& file : files_ending(folder, ".jsonl")) {
    if (file.string().find(".rank-") == std::string::npos) return file;
  }
  FAIL("no samples");
  return {};
}

std::vector<json> steps_in(const fs::path& folder) {
  std::vector<json> steps;
  for (const json& line : lines_of(samples_in(folder))) {
    if (line["event"] == "step") steps.push_back(line["losses"]);
  }
  return steps;
}

/// Of the run that came to its end; what was stopped before its first saved state leaves one, too.
json result_in(const fs::path& folder) {
  for (const fs::path& file : files_ending(folder, ".json")) {
    json result = json::parse(read_file(file, 64 << 20));
    if (result["training"]["epochs"] == result["training"]["max_epochs"]) return result;
  }
  FAIL("no result");
  return {};
}

/// Sample by sample, each of COCO's numbers.
json qualities_in(const json& result) {
  json values = json::object();
  for (const json& metric : result["metrics"]) {
    const std::string tag = metric["tag"];
    if (tag.starts_with("quality.")) values[tag] = metric["samples"];
  }
  return values;
}

}  // namespace

TEST_CASE("two ranks train as one process does with their batches together",
          "[train][ranks][long]") {
  const CocoFolder data;
  const TemporaryFolder one;
  const TemporaryFolder two;
  const TemporaryFolder again;
  REQUIRE(run_harness(training(data, one.path(), 1)).code == 3);
  REQUIRE(run_harness(training(data, two.path(), 2)).code == 3);
  REQUIRE(run_harness(training(data, again.path(), 2)).code == 3);
  const std::vector<json> alone = steps_in(one.path());
  const std::vector<json> shared = steps_in(two.path());
  REQUIRE(alone.size() == 9);
  REQUIRE(shared.size() == 9);
  for (std::size_t i = 0; i < 5; ++i) {
    for (const auto& [name, loss] : alone[i].items()) {
      INFO("step " << i << ", " << name);
      // What rounding makes of one step Adam carries into the next: later ones tell nothing.
      const double tolerance = i == 0 ? 1e-6 : 1e-2;
      CHECK(shared[i][name].get<double>() ==
            Approx(loss.get<double>()).epsilon(tolerance).margin(1e-6));
    }
  }
  CHECK(steps_in(again.path()) == shared);
  CHECK(qualities_in(result_in(again.path())) == qualities_in(result_in(two.path())));
  const json result = result_in(two.path());
  CHECK(result["training"]["samples"] == 36);
  CHECK(result["hyperparameters"]["global_batch_size"] == "4");
  for (const json& member : result["world"]["members"]) {
    CHECK(member["sum_seconds"].get<double>() > 0);
  }
  CHECK(run_harness({"validate", two.path().string()}).code ==
        run_harness({"validate", one.path().string()}).code);
  CHECK(run_harness({"check-log", files_ending(two.path(), ".log").at(0).string()}).code == 0);
}

TEST_CASE("the trace of two ranks has both on one time line", "[train][ranks]") {
  const CocoFolder data;
  const TemporaryFolder out;
  std::vector<std::string> arguments = training(data, out.path(), 2, "1e-3", "1");
  arguments.emplace_back("--trace");
  REQUIRE(run_harness(arguments).code == 3);
  REQUIRE(files_ending(out.path(), ".trace").size() == 1);
  const json trace = json::parse(read_file(files_ending(out.path(), ".trace").at(0), 1 << 20));
  // Of each rank and step: when it began and ended, and the sums of gradients within it.
  std::map<std::pair<int, int>, std::pair<double, double>> steps;
  int sums = 0;
  const auto stretch = [](const json& event) {
    const double begin = event["ts"];
    return std::pair(begin, begin + event["dur"].get<double>());
  };
  for (const json& event : trace) {
    if (event["name"] == "step") steps[{event["pid"], event["args"]["step"]}] = stretch(event);
  }
  REQUIRE(steps.size() == 6);
  for (const json& event : trace) {
    if (event["name"] != "gradients") continue;
    ++sums;
    const auto [begin, end] = steps.at({event["pid"], event["args"]["step"]});
    CHECK(begin <= stretch(event).first);
    CHECK(stretch(event).second <= end);
  }
  CHECK(sums >= 6);
  for (int step = 1; step <= 3; ++step) {
    const auto [begin, end] = steps.at({0, step});
    const auto [other_begin, other_end] = steps.at({1, step});
    CHECK(std::max(begin, other_begin) < std::min(end, other_end));
  }
}

TEST_CASE("an evaluation that ranks share gives the numbers of one process", "[train][ranks]") {
  const CocoFolder data;
  const TemporaryFolder one;
  const TemporaryFolder two;
  // So small a rate leaves the weights as they are.
  REQUIRE(run_harness(training(data, one.path(), 1, "1e-30", "1")).code == 3);
  REQUIRE(run_harness(training(data, two.path(), 2, "1e-30", "1")).code == 3);
  CHECK(qualities_in(result_in(two.path())) == qualities_in(result_in(one.path())));
}

TEST_CASE("one process goes on with what two ranks began", "[train][ranks][long]") {
  const CocoFolder data;
  const TemporaryFolder out;
  // At a larger rate Adam makes much of what rounding leaves of a gradient near 0.
  constexpr const char* kRate = "1e-4";
  Process process(training(data, out.path(), 2, kRate));
  wait_until([&] { return !files_ending(out.path(), ".checkpoint").empty(); });
  process.signal(SIGINT);
  REQUIRE(process.wait().code == 2);
  const Outcome outcome = run_harness({"run", "--resume", out.path().string(), "--ranks", "1"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 3);  // the target is out of reach
  const json result = result_in(out.path());
  CHECK(result["training"]["samples"] == 36);
  CHECK(result["training"]["resumed"][0]["ranks"] == 2);
  CHECK_FALSE(result.contains("world"));
  // The pictures are those that one process would have seen: so are the losses, but for rounding.
  const TemporaryFolder one;
  REQUIRE(run_harness(training(data, one.path(), 1, kRate)).code == 3);
  const std::vector<json> alone = steps_in(one.path());
  const std::vector<json> shared = steps_in(out.path());
  REQUIRE(shared.size() == alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    INFO("step " << i);
    CHECK(shared[i]["total"].get<double>() ==
          Approx(alone[i]["total"].get<double>()).epsilon(0.02));
  }
}

TEST_CASE("a training that loses a rank has its result", "[train][ranks][kill]") {
  const CocoFolder data;
  for (const int lost : {0, 1}) {
    const TemporaryFolder out;
    Process process(training(data, out.path(), 2, "1e-3", "400"));
    wait_for_first_step(out.path());
    const pid_t rank = rank_process(process.id(), lost);
    REQUIRE(rank != 0);
    ::kill(rank, SIGKILL);
    const Outcome outcome = process.wait();
    CAPTURE(lost, outcome.err);
    CHECK(outcome.code == 2);
    if (lost == 0) continue;  // who would write it is gone
    const std::vector<json> results = results_in(out.path());
    REQUIRE(results.size() == 1);
    CHECK(results[0]["status"]["state"] == "aborted");
    CHECK(results[0]["peaks"].empty());
    CHECK_FALSE(results[0]["training"].is_null());
  }
}

TEST_CASE("a training of two ranks of which one is killed goes on bit for bit",
          "[train][ranks][kill][long]") {
  const CocoFolder data;
  const TemporaryFolder whole;
  REQUIRE(run_harness(training(data, whole.path(), 2)).code == 3);
  const std::vector<json> expected = steps_in(whole.path());
  std::mt19937 random(5);
  int resumed = 0;
  const char* kills = std::getenv("HARNESS_TEST_KILLS");
  const int rounds = kills == nullptr ? 4 : std::max(4, std::atoi(kills));
  for (int round = 0; round < rounds; ++round) {
    const TemporaryFolder out;
    Process process(training(data, out.path(), 2));
    wait_for_first_step(out.path());
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 700));
    const pid_t rank = rank_process(process.id(), round % 2);
    if (rank != 0) ::kill(rank, SIGKILL);
    const Outcome killed = process.wait();
    CAPTURE(round, killed.err);
    if (!fs::exists(out / "series.state")) continue;  // it was over already
    CHECK(killed.code == 2);
    const Outcome outcome = run_harness({"run", "--resume", out.path().string()});
    CAPTURE(outcome.out, outcome.err);
    REQUIRE(outcome.code == 3);
    const json result = result_in(out.path());
    CHECK(qualities_in(result) == qualities_in(result_in(whole.path())));
    if (result["training"]["resumed"].empty()) continue;
    ++resumed;
    CHECK(steps_in(out.path()) == expected);
  }
  CHECK(resumed >= rounds / 4);
}
