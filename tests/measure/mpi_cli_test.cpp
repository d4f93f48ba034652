// End to end: ranks that mpirun starts and MPI's own engine joins.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/process.hpp"
#include "tests/support/rank_process.hpp"
#include "tests/support/rank_runs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/world.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

bool mpi_is_here() {
  const fs::path plugin = fs::path(harness_program()).parent_path() / "libharness_mpi.so";
  if (fs::exists(plugin) && std::system("command -v mpirun >/dev/null") == 0) return true;
  WARN("no MPI here: its engine was not tried");
  return false;
}

/// `run` on each of `world` ranks; `out` is told to all, as a user of mpirun does.
Process mpirun(int world, const fs::path& out, const std::vector<std::string>& options) {
  std::string command =
      "exec mpirun --oversubscribe -n " + std::to_string(world) + " '" + harness_program() +
      "' run --oversubscribe --rendezvous 127.0.0.1:" + std::to_string(free_port()) + " --out '" +
      out.string() + "'";
  for (const std::string& option : options) command += " '" + option + "'";
  return Process({"-c", command},
                 {run_key(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}, {},
                 "/usr/bin/bash");
}

std::vector<std::string> steps(int count, const std::string& milliseconds) {
  return {
      "--workload", "null", "--steps", std::to_string(count), "--set", "step-ms=" + milliseconds,
      "--engine",   "mpi"};
}

/// The losses of a short training, of each step.
std::vector<json> losses(int world, const std::vector<std::string>& more) {
  const TemporaryFolder out;
  std::vector<std::string> options = {
      "--workload", "retinanet-mini-train", "--tier", "quick",     "--steps",
      "3",          "--batch-size",         "2",      "--threads", "1"};
  options.insert(options.end(), more.begin(), more.end());
  Process process = mpirun(world, out.path(), options);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  std::vector<json> values;
  for (const fs::path& file : files_ending(out.path(), ".jsonl")) {
    for (const json& line : lines_of(file)) {
      if (line.contains("losses")) values.push_back(line["losses"]);
    }
  }
  return values;
}

}  // namespace

TEST_CASE("ranks over MPI are one run", "[ranks][mpi]") {
  if (!mpi_is_here()) return;
  const TemporaryFolder out;
  Process process = mpirun(2, out.path(), steps(8, "5"));
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json result = only_result(out.path());
  CHECK(result["settings"]["effective"]["engine"] == "mpi");
  CHECK_THAT(result["world"]["engine"].get<std::string>(), Catch::Contains("MPI"));
  CHECK(result["world"]["ranks"] == 2);
  CHECK(run_harness({"validate", out.path().string()}).code == 0);
}

TEST_CASE("gloo and MPI give the same bits", "[ranks][mpi][long]") {
  if (!mpi_is_here()) return;
  const int world = GENERATE(2, 3);
  const std::string sums = GENERATE(as<std::string>(), "fp32", "bf16");
  const std::vector<json> by_gloo = losses(world, {"--gradient-sums", sums});
  const std::vector<json> by_mpi = losses(world, {"--gradient-sums", sums, "--engine", "mpi"});
  REQUIRE(by_gloo.size() > 3);
  CHECK(by_gloo == by_mpi);
}

TEST_CASE("a rank over MPI that is killed ends the run with what was measured", "[ranks][mpi]") {
  if (!mpi_is_here()) return;
  const int rank = GENERATE(0, 1);
  const TemporaryFolder out;
  Process process = mpirun(2, out.path(), steps(3000, "20"));
  wait_for_first_step(out.path());
  pid_t lost = 0;
  for (const pid_t launcher : children_of(process.id())) {
    if (lost == 0) lost = rank_process(launcher, rank);
  }
  REQUIRE(lost > 0);
  ::kill(lost, SIGKILL);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code != 0);
  const json result = only_result(out.path());
  CHECK(result["status"]["state"] == "aborted");
  CHECK_FALSE(result["metrics"][0]["samples"].empty());
}

TEST_CASE("a rank over MPI that fails is named, and none waits for it", "[ranks][mpi]") {
  if (!mpi_is_here()) return;
  const TemporaryFolder out;
  std::vector<std::string> options = steps(50, "20");
  options.insert(options.end(), {"--set", "fail-at=5"});
  Process process = mpirun(2, out.path(), options);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code != 0);
  CHECK(only_result(out.path())["status"]["state"] == "aborted");
}

TEST_CASE("what MPI cannot do is an error", "[ranks][mpi]") {
  if (!mpi_is_here()) return;
  const Outcome outcome =
      run_harness({"run", "--workload", "null", "--steps", "3", "--ranks", "2", "--engine", "mpi"});
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.err, Catch::Contains("rank 0 of 1") && Catch::Contains("mpirun"));
  const Outcome series =
      run_harness({"run", "--workload", "null", "--runs", "3", "--ranks", "2", "--engine", "mpi"});
  CHECK(series.code == 1);
  CHECK_THAT(series.err, Catch::Contains("one run") && Catch::Contains("--runs 1"));
  const Outcome alone = run_harness({"run", "--workload", "null", "--engine", "mpi"});
  CHECK(alone.code == 1);
  CHECK_THAT(alone.err, Catch::Contains("--engine") && Catch::Contains("--ranks"));
}
