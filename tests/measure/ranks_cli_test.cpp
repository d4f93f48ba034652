// End to end: a run in several processes; what becomes of it where one of them is lost, stands
// still, or is asked to stop.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tests/support/rank_process.hpp"
#include "tests/support/rank_runs.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// `more` in place of what is said here: an option stands once.
std::vector<std::string> in_ranks(const fs::path& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"run"};
  const std::pair<const char*, std::string> usual[] = {
      {"--workload", "null"}, {"--ranks", "2"}, {"--steps", "20"}, {"--out", out.string()}};
  for (const auto& [option, value] : usual) {
    if (std::find(more.begin(), more.end(), option) != more.end()) continue;
    arguments.insert(arguments.end(), {option, value});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> slow_ranks(const fs::path& out) {
  return in_ranks(out, {"--steps", "1000", "--set", "step-ms=20"});
}

void kill_rank(const Process& leader, int rank, int signal) {
  const pid_t process = rank_process(leader.id(), rank);
  REQUIRE(process != 0);
  ::kill(process, signal);
}

/// How many processes are told in their environment to write there.
int processes_of(const fs::path& out) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "environ");
    std::stringstream environment;
    environment << file.rdbuf();
    count += environment.str().find("\"out\":\"" + out.string()) == std::string::npos ? 0 : 1;
  }
  return count;
}

void check_all_gone(const fs::path& out) { CHECK(processes_of(out) == 0); }

}  // namespace

TEST_CASE("a run in two ranks is one result", "[ranks]") {
  const TemporaryFolder out;
  const Outcome outcome = run_harness(in_ranks(out.path(), {"--batch-size", "3"}));
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(error_lines(outcome).empty());
  const json result = only_result(out.path());
  CHECK(result["settings"]["effective"]["ranks"] == 2);
  CHECK(result["settings"]["effective"]["batch_size"] == 3);
  CHECK(result["world"]["global_batch_size"] == 6);
  CHECK(result["world"]["members"].size() == 2);
  CHECK(result["world"]["members"][0]["cpus"] != result["world"]["members"][1]["cpus"]);
  CHECK(files_ending(out.path(), ".jsonl").size() == 2);  // each rank writes its samples
  check_all_gone(out.path());
  const Outcome valid = run_harness({"validate", out.path().string()});
  CHECK(valid.code == 0);
  CHECK(valid.err.empty());  // samples of further ranks are none without a result
  CHECK(lines_of(files_ending(out.path(), ".jsonl").at(0)).at(0)["run"] ==
        result["identity"]["uuid"]);
  CHECK(lines_of(files_ending(out.path(), ".jsonl").at(1)).at(0)["run"] ==
        result["identity"]["uuid"]);
  const TemporaryFolder alone;
  const Outcome one = run_harness({"run", "--workload", "null", "--steps", "20", "--batch-size",
                                   "6", "--out", alone.path().string()});
  REQUIRE(one.code == 0);
  CHECK_FALSE(only_result(alone.path()).contains("world"));
  CHECK(
      run_harness({"gate", "--baseline", alone.path().string(), "--candidate", out.path().string()})
          .code == 5);  // another world is other work
}

TEST_CASE("a series and a training to its target run in ranks", "[ranks]") {
  const TemporaryFolder out;
  const Outcome outcome = run_harness(training(out.path(), {"--ranks", "2", "--runs", "2"}));
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(results_in(out.path()).size() == 2);
  for (const json& result : results_in(out.path())) {
    CHECK(result["training"]["target_reached"] == true);
    CHECK(result["training"]["samples"] == 2 * result["training"]["steps"].get<int>());
  }
  check_log_passes(out.path());
  CHECK(run_harness({"validate", out.path().string()}).code == 0);
}

TEST_CASE("a rank that is killed ends the run with what was measured", "[ranks]") {
  const int rank = GENERATE(0, 1);
  const TemporaryFolder out;
  Process process(slow_ranks(out.path()));
  wait_for_first_step(out.path());
  const auto before = std::chrono::steady_clock::now();
  kill_rank(process, rank, SIGKILL);
  const Outcome outcome = process.wait();
  CAPTURE(rank, outcome.out, outcome.err);
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::minutes(1));
  CHECK(outcome.code == 2);
  REQUIRE(error_lines(outcome).size() == 1);
  CHECK_THAT(error_lines(outcome)[0],
             Catch::Contains("rank " + std::to_string(rank)) && Catch::Contains("signal 9"));
  const json result = only_result(out.path());
  CHECK(result["status"]["state"] == "aborted");
  CHECK_FALSE(result["metrics"][0]["samples"].empty());
  const json& lost = result["world"]["members"][static_cast<std::size_t>(rank)];
  CHECK(lost["own_seconds"].is_null());
  CHECK_THAT(lost["missing"]["own_seconds"].get<std::string>(), Catch::Contains("signal 9"));
  check_all_gone(out.path());
  CHECK(run_harness({"validate", out.path().string()}).code == 3);
}

TEST_CASE("ranks end with the process that runs them", "[ranks]") {
  const TemporaryFolder out;
  Process process(slow_ranks(out.path()));
  const bool early = GENERATE(true, false);
  if (early) {
    wait_until([&] { return rank_process(process.id(), 0) != 0; });
  } else {
    wait_for_first_step(out.path());
  }
  process.signal(SIGKILL);
  process.wait();
  wait_until([&] { return processes_of(out.path()) == 0; });
}

TEST_CASE("a full disk ends a run in ranks in one line", "[ranks]") {
  const TemporaryFolder out;
  const Outcome outcome = run_on_full_disk(
      in_ranks(out / "run", {"--steps", "1000", "--set", "step-ms=0"}), out.path());
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code != 0);
  CHECK_THAT(outcome.err, Catch::Contains("cannot append"));
  CHECK_THAT(outcome.out, Catch::Contains("ranks"));  // its summary is all that can be had
  check_all_gone(out.path());
}

TEST_CASE("a rank that stands still counts as lost", "[ranks][long]") {
  const TemporaryFolder out;
  Process process(slow_ranks(out.path()));
  wait_for_first_step(out.path());
  kill_rank(process, 1, SIGSTOP);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  REQUIRE(error_lines(outcome).size() == 1);
  CHECK_THAT(error_lines(outcome)[0], Catch::Contains("rank 1: its process stands still"));
  CHECK(only_result(out.path())["status"]["state"] == "aborted");
  check_all_gone(out.path());
}

TEST_CASE("Ctrl-C stops all ranks after the same step", "[ranks]") {
  const TemporaryFolder out;
  Process process(slow_ranks(out.path()));
  wait_for_first_step(out.path());
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  CHECK(stop_lines(outcome).size() == 1);
  CHECK(error_lines(outcome).size() == 1);
  CHECK(only_result(out.path())["status"]["state"] == "aborted");
  check_same_steps(out.path());
  check_all_gone(out.path());
}

TEST_CASE("a failing rank is named by what it failed of", "[ranks]") {
  const TemporaryFolder out;
  const auto with = [&](const std::string& setting) {
    return run_harness(in_ranks(out / "run", {"--set", setting}));
  };
  const ErrorParts unprepared = refusal_in(with("fail-prepare=yes"));
  CHECK(unprepared.about == "null");
  CHECK_FALSE(fs::exists(out / "run"));
  const Outcome failed = with("fail-at=8");
  CHECK(failed.code == 2);
  REQUIRE(error_lines(failed).size() == 1);
  CHECK_THAT(error_lines(failed)[0], Catch::Contains("told to fail at step 8"));
  CHECK(only_result(out / "run")["metrics"][0]["samples"].size() == 7);
}

TEST_CASE("worlds that cannot be are refused before anything starts", "[ranks]") {
  const TemporaryFolder out;
  const auto refused = [&](const std::vector<std::string>& more) {
    ErrorParts parts = refusal_in(run_harness(in_ranks(out / "run", more)));
    CHECK_FALSE(fs::exists(out / "run"));
    return parts;
  };
  CHECK(refused({"--ranks", "0"}).about == "--ranks 0");
  CHECK(refused({"--ranks", "65537"}).about == "--ranks 65537");
  CHECK(refused({"--ranks", "60000"}).names("usable"));
  CHECK(refused({"--ranks", "60000"}).names("--oversubscribe"));
  CHECK(refused({"--workload", "focal-loss"}).names("focal-loss"));
  CHECK(refused({"--workload", "classify"}).about == "--ranks 2");
  const Outcome bad = run_harness({"run", "--workload", "null"}, {"HARNESS_RANK_ORDER=1,2"});
  CHECK(refusal_in(bad).about == "HARNESS_RANK_ORDER");
}

TEST_CASE("a training goes on with another number of ranks", "[ranks]") {
  const TemporaryFolder out;
  const auto go_on = [&](const char* ranks) {
    return run_harness({"run", "--resume", out.path().string(), "--ranks", ranks});
  };
  const auto stop_early = [](Process& process, const fs::path& folder) {
    const std::size_t before = files_ending(folder, ".checkpoint").size();
    wait_until([&] { return files_ending(folder, ".checkpoint").size() > before; });
    process.signal(SIGINT);
    CHECK(process.wait().code == 2);
  };
  // What holds for two ranks alone does not stand in the way.
  Process process(training(out.path(), {"--ranks", "2", "--batch-size", "3", "--runs", "1", "--set",
                                        "step-ms=30", "--threads", "1", "--engine", "gloo"}));
  stop_early(process, out.path());
  const Outcome uneven = go_on("4");
  CHECK(uneven.code == 1);
  CHECK_THAT(uneven.err, Catch::Contains("--ranks 4") && Catch::Contains("6 samples"));
  CHECK(run_harness({"run", "--resume", out.path().string(), "--threads", "1"}).code == 1);
  const Outcome outcome = go_on("1");
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  for (const json& result : results_in(out.path())) {
    if (result["status"]["state"] == "aborted") continue;
    CHECK(result["settings"]["effective"]["ranks"] == 1);
    CHECK(result["settings"]["effective"]["batch_size"] == 6);
    CHECK(result["training"]["resumed"][0]["ranks"] == 2);
    CHECK(result["training"]["samples"] == 6 * result["training"]["steps"].get<int>());
  }
  check_log_passes(out.path());
  CHECK(run_harness({"validate", out.path().string()}).code == 0);
}

TEST_CASE("gradients that are rounded on their way are for the open division", "[ranks]") {
  const TemporaryFolder out;
  const Outcome outcome = run_harness(in_ranks(out.path(), {"--gradient-sums", "bf16"}));
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json result = only_result(out.path());
  CHECK(result["settings"]["effective"]["gradient_sums"] == "bf16");
  CHECK(result["workload"]["division"] == "open");
  CHECK(result["workload"]["departures"][0]["path"] == "/settings/effective/gradient_sums");
  CHECK(run_harness({"validate", out.path().string()}).code == 0);
  CHECK(
      run_harness(in_ranks(out.path(), {"--gradient-sums", "bf16", "--division", "closed"})).code ==
      1);
}

TEST_CASE("ranks are one side in lockstep", "[ranks][lockstep]") {
  const TemporaryFolder out;
  const auto side = [&](const char* ranks, const char* batch) {
    return harness_program() + " run --workload null --lockstep --oversubscribe --ranks " + ranks +
           " --batch-size " + batch;
  };
  const Outcome outcome = run_harness(
      {"bench", "--lockstep", "--rounds", "6", "--json", side("1", "2"), side("2", "1")}, {},
      out.path());
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(json::parse(outcome.out).is_object());
}

TEST_CASE("how a step scales is measured in one campaign", "[ranks][scaling][long]") {
  const TemporaryFolder out;
  const std::vector<std::string> scale = {
      "scale",  "--workload", "null", "--set",           "step-ms=5", "--clusters",
      "1",      "--rounds",   "3",    "--oversubscribe", "--out",     (out / "s.json").string(),
      "--ranks"};
  const auto with = [&](const char* ranks) {
    std::vector<std::string> arguments = scale;
    arguments.emplace_back(ranks);
    return run_harness(arguments);
  };
  for (const char* ranks : {"1", "2,1", "1,1", "0,2", "1,x", "", "2,3"}) {
    INFO(ranks);
    CHECK(refusal_in(with(ranks)).about.find("--ranks") == 0);
  }
  const Outcome outcome = with("1,2");
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("efficiency"));
  CHECK(run_harness({"validate", (out / "s.json").string()}).code == 0);
  const json file = json::parse(read_file(out / "s.json", 64 << 20));
  REQUIRE(file["variants"].size() == 3);
  CHECK(file["variants"][1]["name"] == "ranks-2");
  CHECK(file["variants"][2]["settings"]["batch_size"] == "2");
  CHECK(file["variants"][1]["quality_passed"] == true);
}

TEST_CASE("more ranks than CPUs run where that is asked for", "[ranks]") {
  const TemporaryFolder out;
  const Outcome outcome =
      run_harness(in_ranks(out.path(), {"--ranks", "3", "--cpus", "0", "--oversubscribe"}));
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  const json result = only_result(out.path());
  for (const json& member : result["world"]["members"]) CHECK(member["cpus"] == "0");
}
