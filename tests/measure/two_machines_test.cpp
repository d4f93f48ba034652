// End to end: ranks on two machines, as far as network namespaces with addresses of their own are
// such; by the script for ssh of examples/ranks.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "tests/support/process.hpp"
#include "tests/support/rank_runs.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/world.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kNotAllowed = 77;
constexpr const char* kFirstStep =
    "until grep -qs '\"event\":\"step\"' run/*.jsonl; do sleep 0.1; done";

std::string source_file(const char* name) { return (fs::path(HARNESS_SOURCE_DIR) / name).string(); }

/// Both ranks by the script for ssh, whose process is $script for `meanwhile`, a command of bash.
Process two_machines(const fs::path& folder, const std::vector<std::string>& options,
                     const std::string& meanwhile = "true", const char* cable = "1gbit") {
  std::string ranks = source_file("examples/ranks/ssh.sh") + " 10.77.0.1 10.77.0.2 --";
  for (const std::string& option : options) ranks += " '" + option + "'";
  const std::vector<std::string> arguments = {
      source_file("tests/support/two_machines.sh"), cable, "bash", "-c",
      ranks + " & script=$!; " + meanwhile + "; wait $script"};
  return Process(arguments, {"HARNESS=" + harness_program()}, folder, "/usr/bin/bash");
}

std::vector<std::string> steps(int count) {
  return {"--workload", "null",       "--steps", std::to_string(count),
          "--set",      "step-ms=20", "--out",   "run"};
}

bool not_allowed(const Outcome& outcome) {
  if (outcome.code != kNotAllowed) return false;
  WARN("no network namespaces here: ranks on two machines were not tried");
  return true;
}

}  // namespace

TEST_CASE("ranks on two machines are one run", "[ranks][rendezvous][namespaces]") {
  const TemporaryFolder folder;
  Process process = two_machines(folder.path(), steps(8));
  const Outcome outcome = process.wait();
  if (not_allowed(outcome)) return;
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json result = only_result(folder / "run");
  CHECK(result["world"]["ranks"] == 2);
  CHECK(files_ending(folder / "run", ".jsonl").size() == 2);
  CHECK(run_harness({"validate", (folder / "run").string()}).code == 0);
}

TEST_CASE("a cable that takes its time shows in the sums", "[ranks][rendezvous][namespaces]") {
  const TemporaryFolder folder;
  Process process = two_machines(folder.path(),
                                 {"--workload", "allreduce", "--steps", "5", "--threads", "1",
                                  "--set", "sizes=1024", "--out", "run"},
                                 "true", "1gbit/5");
  const Outcome outcome = process.wait();
  if (not_allowed(outcome)) return;
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  for (const json& metric : only_result(folder / "run")["metrics"]) {
    if (metric["tag"] != "time.phase.1024") continue;
    CHECK(metric["summary"]["median"]["center"].get<double>() > 0.01);  // there, and back
  }
}

TEST_CASE("a network that breaks ends the run on both machines",
          "[ranks][rendezvous][namespaces][long]") {
  const TemporaryFolder folder;
  Process process = two_machines(folder.path(), steps(3000),
                                 std::string(kFirstStep) + "; ip -n 10.77.0.2 link set cable down");
  const Outcome outcome = process.wait();
  if (not_allowed(outcome)) return;
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err, Catch::Contains("rank 1: its machine does not answer") &&
                              Catch::Contains("the machine of rank 0 does not answer"));
  const json result = only_result(folder / "run");
  CHECK(result["status"]["state"] == "aborted");
  CHECK_FALSE(result["metrics"][0]["samples"].empty());
}

TEST_CASE("Ctrl-C on the script for ssh stops the ranks of all machines",
          "[ranks][rendezvous][namespaces]") {
  const TemporaryFolder folder;
  Process process =
      two_machines(folder.path(), steps(3000), std::string(kFirstStep) + "; kill -TERM $script");
  const Outcome outcome = process.wait();
  if (not_allowed(outcome)) return;
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  CHECK(only_result(folder / "run")["status"]["state"] == "aborted");
}

TEST_CASE("a machine that is not to be trusted is named with its rank",
          "[ranks][rendezvous][namespaces]") {
  const TemporaryFolder folder;
  const World world(folder / "run");
  // Another start of the kernel is another machine.
  write_file_atomically(folder / "boot_id", "00000000-0000-4000-8000-000000000000\n");
  const std::string elsewhere =
      "mount --bind \"$1\" /proc/sys/kernel/random/boot_id || exit 77; shift; exec \"$@\"";
  std::vector<std::string> arguments = {"--user",
                                        "--map-root-user",
                                        "--mount",
                                        "bash",
                                        "-c",
                                        elsewhere,
                                        "bash",
                                        (folder / "boot_id").string(),
                                        harness_program()};
  const std::vector<std::string> run = world.steps(1, 100);
  arguments.insert(arguments.end(), run.begin(), run.end());
  const Process stranger({"-c", "while :; do :; done"}, {}, {}, "/usr/bin/bash");
  Process follower(arguments, {run_key()}, {}, "/usr/bin/unshare");
  const auto leader = start_rank(world.steps(0, 100));
  const Outcome followed = follower.wait();
  if (not_allowed(followed)) return;
  if (followed.err.find("unshare:") != std::string::npos) return;
  const Outcome led = leader->wait();
  CAPTURE(led.out, led.err, followed.err);
  REQUIRE(led.code == 0);
  const json result = only_result(folder / "run");
  CHECK(result["world"]["nodes"] == 2);
  CHECK(result["status"]["mistrusted"] == true);
  CHECK_THAT(result["status"]["mistrust_reasons"].dump(),
             Catch::Contains("machine of rank 1: other processes took"));
  CHECK(run_harness({"validate", (folder / "run").string()}).code == 0);
}
