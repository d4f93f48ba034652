// End to end: `harness ablate` on the null workload, whose variants take scripted times.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <random>
#include <sstream>
#include <thread>

#include "harness/base/hash.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/python_check.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> ablate_null(const fs::path& out,
                                     const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = with_step_ms("2", more);
  arguments.insert(arguments.begin(), {"ablate", "--workload", "null", "--out", out.string()});
  return arguments;
}

Outcome run_ablate(const fs::path& out, const std::vector<std::string>& more = {}) {
  return run_harness(ablate_null(out, more));
}

/// In one cluster, unless `more` says otherwise.
Outcome ablate_once(const fs::path& out, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--clusters", "1"});
  return run_ablate(out, more);
}

void wait_for_first_turn(const fs::path& out) {
  wait_for_line(out, ".jsonl", "\"event\":\"turn\"");
}

/// A peer in the shell that answers each order of steps by `answer`.
std::string peer_that(const std::string& answer) {
  return R"(echo '{"lockstep":1,"name":"shell 1.0","unit":"step"}'; )"
         "while read -r line; do case $line in *finish*) exit 0;; *evaluate*) echo "
         R"('{"quality":null}';; *) )" +
         answer + ";; esac; done";
}

std::size_t turns_in(const std::vector<json>& lines) {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [](const json& line) { return line["event"] == "turn"; }));
}

json read_json(const fs::path& file) { return json::parse(read_file(file, 64 << 20)); }

std::vector<std::string> names(const json& ablation) {
  std::vector<std::string> list;
  for (const json& variant : ablation["variants"]) list.push_back(variant["name"]);
  return list;
}

}  // namespace

TEST_CASE("ablate leaves one valid file with every variant, and its samples", "[ablate]") {
  const TemporaryFolder out;
  const fs::path file = out / "new/a.json";
  const Outcome outcome =
      run_ablate(file, {"--set", "step-ms=24", "--set", "pooled-speedup=2", "--set",
                        "custom-speedup=3", "--set", "bf16-speedup=2", "--rounds", "2"});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("left out elsewhere: nothing=elsewhere cannot run"));
  CHECK_THAT(outcome.out, Catch::Contains("status   valid"));
  const json ablation = read_json(file);
  CHECK(ablation["kind"] == "ablation");
  CHECK(ablation["notice"] == "Result not verified by MLCommons Association.");
  CHECK(ablation["status"]["state"] == "valid");
  CHECK(names(ablation) ==
        std::vector<std::string>{"out-of-the-box", "pooled", "nothing", "bf16", "bf16-reference"});
  CHECK(ablation["left_out"][0]["name"] == "elsewhere");
  // Sleeps of 24, 12, 4, 2 and 6 ms: a busy machine stretches them, but not to each other.
  const json& variants = ablation["variants"];
  CHECK(variants[1]["ratio_to_first"]["median"] > 1.2);
  CHECK(variants[2]["ratio_to_previous"]["median"] > 1.5);
  CHECK(variants[2]["ratio_to_reference"]["to"] == "pooled");
  CHECK(variants[3]["ratio_to_reference"]["to"] == "bf16-reference");
  CHECK(variants[4]["ratio_to_previous"]["to"] == "pooled");
  CHECK(variants[0]["ratio_to_previous"].is_null());
  for (const json& variant : variants) {
    CHECK(variant["turns"].size() == 6 * 3);
    CHECK(variant["quality_passed"] == true);
    CHECK(variant["phases"][0]["name"] == "work");
    CHECK(variant["ratio_to_first"]["low"].is_number());
    CHECK(variant["missing"]["peak_memory_bytes"] == "this workload has no allocator of its own");
  }
  const std::vector<json> lines = lines_of(out / "new/a.jsonl");
  CHECK(lines.front()["run"] == ablation["identity"]["uuid"]);
  CHECK(lines.back()["event"] == "finished");
  CHECK(turns_in(lines) == 5 * 6 * 3);
  CHECK(lines[1]["variant"] == "out-of-the-box");
  CHECK(lines[1]["losses"]["total"].size() == 1);
  const Outcome validation = run_harness({"validate", file.string()});
  CAPTURE(validation.out);
  CHECK(validation.code == 0);
  check_with_python("ablation", file, {"", "/variants/0"});
}

TEST_CASE("the peaks of the machine are kept, and what a variant achieved of them", "[ablate]") {
  const TemporaryFolder out;
  const Outcome outcome = ablate_once(out / "a.json", {"--variants", "out-of-the-box,pooled",
                                                       "--rounds", "1", "--set", "flops=3e7"});
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  const json ablation = read_json(out / "a.json");
  CHECK_FALSE(ablation["peaks"].empty());
  for (const json& variant : ablation["variants"]) {
    CHECK(variant["cost"]["step_flops"] == 3e7);
    const double achieved = variant["cost"]["achieved_flops_per_second"];
    CHECK(achieved * variant["median_seconds"].get<double>() == Approx(3e7));
  }
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 0);
}

TEST_CASE("what does not fit into memory is measured in groups that share the first variant",
          "[ablate]") {
  const TemporaryFolder out;
  const std::vector<std::string> large = {"--set",    "memory=1e8", "--rounds", "2",
                                          "--set",    "step-ms=24", "--set",    "pooled-speedup=2",
                                          "--memory", "0.3"};
  const Outcome outcome = ablate_once(out / "a.json", large);
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(
      outcome.out,
      Catch::Contains("group 1 of 2, for want of memory: out-of-the-box, pooled, nothing\n"));
  CHECK_THAT(outcome.out, Catch::Contains("by way of 'out-of-the-box'"));
  const json variants = read_json(out / "a.json")["variants"];
  CHECK(variants[0]["turns"].size() == 2 * 3);
  CHECK(variants[1]["turns"].size() == 3);
  CHECK(variants[4]["turns"][0]["group"] == 2);
  CHECK(variants[4]["ratio_to_previous"]["to"] == "pooled");
  CHECK(variants[4]["ratio_to_first"]["median"] > 1.2);
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 0);
  std::vector<std::string> larger = large;
  larger.back() = "0.15";
  check_one_error(ablate_once(out / "b.json", larger), 1, "need about 191 MiB of memory together");
}

TEST_CASE("peers step in turn with the variants and come last", "[ablate]") {
  const TemporaryFolder out;
  const std::string twin = harness_program() + " run --workload null --set step-ms=24 --lockstep" +
                           " --out " + (out / "twin").string();
  const Outcome outcome =
      ablate_once(out / "a.json", {"--variants", "out-of-the-box", "--rounds", "2", "--set",
                                   "step-ms=12", "--peer", "twin=" + twin, "--peer",
                                   "shell=" + peer_that(R"(echo '{"seconds":[0.001]}')")});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("twin is a peer: null harness "));
  const json ablation = read_json(out / "a.json");
  CHECK(names(ablation) == std::vector<std::string>{"out-of-the-box", "twin", "shell"});
  const json& peer = ablation["variants"][1];
  CHECK(peer["settings"].is_null());
  CHECK(peer["ratio_to_previous"].is_null());
  CHECK(peer["quality"].is_null());
  CHECK(peer["ratio_to_first"]["median"] < 0.9);
  CHECK(peer["peer"]["command"] == twin);
  CHECK(peer["peer"]["files"][0]["file"] == harness_program());
  CHECK(peer["peer"]["files"][0]["sha256"] == sha256_of_file(harness_program()));
  CHECK(ablation["variants"][2]["peer"]["version"] == "shell 1.0");
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 0);
  check_with_python("ablation", out / "a.json", {"/variants/1", "/variants/1/peer"});
}

TEST_CASE("a peer that fails is named, with its last words", "[ablate]") {
  const TemporaryFolder out;
  const TemporaryFolder temporary;  // where the logs stay
  const auto with_peer = [&](const std::string& file, const std::string& command) {
    std::vector<std::string> arguments = ablate_null(
        out / file,
        {"--variants", "pooled", "--clusters", "1", "--rounds", "3", "--peer", "other=" + command});
    return run_harness(arguments, {"TMPDIR=" + temporary.path().string()});
  };
  const Outcome never = with_peer("never.json", "echo no licence >&2; exit 7");
  CAPTURE(never.err);
  CHECK(never.code == 1);
  CHECK_THAT(never.err, Catch::Contains("harness: other, cluster 1: "));
  CHECK_THAT(never.err, Catch::Contains("ended with exit code 7, and said: no licence"));
  CHECK_FALSE(fs::exists(out / "never.json"));

  const Outcome nonsense = with_peer("nonsense.json", peer_that("echo '{}'"));
  CHECK(nonsense.code == 1);
  CHECK_THAT(nonsense.err, Catch::Contains("harness: other, cluster 1: "));

  const std::string twice =
      "n=0; " + peer_that(R"(n=$((n+1)); [ $n -lt 3 ] || exit 5; echo '{"seconds":[0.001]}')");
  const Outcome dies = with_peer("dies.json", twice);
  CAPTURE(dies.err);
  CHECK(dies.code == 2);
  CHECK_THAT(dies.err, Catch::Contains("harness: other, cluster 1: "));
  const json ablation = read_json(out / "dies.json");
  CHECK(ablation["status"]["state"] == "aborted");
  CHECK(ablation["variants"][1]["turns"].size() == 2);
  CHECK(run_harness({"validate", (out / "dies.json").string()}).code == 3);

  const Outcome diverges =
      with_peer("diverges.json", peer_that(R"(echo '{"seconds":[0.001],"losses":{"a":[null]}}')"));
  CHECK(diverges.code == 3);
  CHECK_THAT(diverges.out, Catch::Contains("other: loss 'a'"));
}

TEST_CASE("by default an ablation goes to a new folder under runs/, or into the folder given",
          "[ablate]") {
  const TemporaryFolder folder;
  CHECK(run_harness({"ablate", "--workload", "null", "--rounds", "1", "--clusters", "1", "--set",
                     "step-ms=0"},
                    {}, folder.path())
            .code == 0);
  const auto runs = fs::directory_iterator(folder / "runs");
  CHECK(files_ending(runs->path(), ".json").size() == 1);
  CHECK(ablate_once(folder.path(), {"--rounds", "1"}).code == 0);
  CHECK(files_ending(folder.path(), ".json").size() == 1);
  CHECK(files_ending(folder.path(), ".jsonl").size() == 1);
}

TEST_CASE("a subset with few clusters has no interval and says why", "[ablate]") {
  const TemporaryFolder out;
  const Outcome outcome =
      run_ablate(out / "a.json", {"--variants", "pooled,out-of-the-box", "--rounds", "1",
                                  "--clusters", "2", "--batch-size", "3", "--seed", "5"});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("an interval needs 6 clusters"));
  const json ablation = read_json(out / "a.json");
  CHECK(names(ablation) == std::vector<std::string>{"out-of-the-box", "pooled"});
  CHECK(ablation["variants"][1]["ratio_to_first"]["low"].is_null());
  CHECK_THAT(ablation["variants"][1]["ratio_to_first"]["missing"]["low"].get<std::string>(),
             Catch::Contains("too few"));
  CHECK(ablation["workload"]["division"] == "open");
  CHECK(ablation["settings"]["effective"]["batch_size"] == 3);
  CHECK(ablation["seeds"]["run"] == 5);
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 0);
}

TEST_CASE("ablate refuses in one line what it cannot do", "[ablate]") {
  const TemporaryFolder out;
  const fs::path file = out / "a.json";
  CHECK(run_harness({"ablate", "--help"}).code == 0);
  check_one_error(run_harness({"ablate"}), 1, "--workload");
  check_one_error(run_harness({"ablate", "--workload", "nul"}), 1, "did you mean null?");
  check_one_error(run_ablate(file, {"--variants", "poled"}), 1, "did you mean pooled?");
  check_one_error(run_ablate(file, {"--variants", "elsewhere"}), 1, "cannot run on this machine");
  check_one_error(run_ablate(file, {"--rounds", "0"}), 1, "--rounds 0");
  check_one_error(run_ablate(file, {"--rounds", "many"}), 1, "not a whole number");
  check_one_error(run_ablate(file, {"--clusters", "0"}), 1, "--clusters 0");
  check_one_error(run_ablate(file, {"--peer", "true"}), 1, "has no command");
  check_one_error(run_ablate(file, {"--kernels", "custom"}), 1, "unknown to 'harness ablate'");
  check_one_error(run_ablate(file, {"--batch-size", "1000000000"}), 1, "need about");
  check_one_error(run_ablate(file, {"--set", "colour=red"}), 1, "no setting 'colour'");
  check_one_error(run_ablate(file, {"--set", "custom-speedup=0"}), 1, "not above 0");
  check_one_error(run_ablate(out / "a.txt"), 1, "name of a .json file");
  CHECK_FALSE(fs::exists(file));
  std::ofstream(file) << "mine";
  check_one_error(run_ablate(file), 1, "exists already");
  CHECK(fs::file_size(file) == 4);
  check_one_error(run_ablate(file / "below.json"), 1, "cannot create the folder");
  check_one_error(run_ablate("/proc/harness/a.json"), 1, "/proc/harness");
}

TEST_CASE("an ablation is told in lines of at most 100 columns, each thing once", "[ablate]") {
  const TemporaryFolder out;
  const Outcome all = ablate_once(out / "all.json");
  CHECK(badly_set(all.out, 100) == std::vector<std::string>{});
  const std::size_t first = all.out.find("left out elsewhere");
  REQUIRE(first != std::string::npos);
  CHECK(all.out.find("left out elsewhere", first + 1) == std::string::npos);
  const Outcome one = ablate_once(out / "one.json", {"--rounds", "1", "--variants", "pooled"});
  CHECK_THAT(one.out, Catch::Contains("1 variant · 1 cluster of 1 round after 1 of warm-up"));
}

TEST_CASE("a variant whose quality fails makes the ablation invalid and exits 3", "[ablate]") {
  const TemporaryFolder out;
  const Outcome outcome = ablate_once(out / "a.json", {"--set", "custom-quality=0.1"});
  CHECK(outcome.code == 3);
  CHECK_THAT(outcome.out, Catch::Contains("MISSED"));
  CHECK_THAT(outcome.out, Catch::Contains("quality-target at /variants/2/quality/value"));
  const json ablation = read_json(out / "a.json");
  CHECK(ablation["status"]["state"] == "invalid");
  CHECK(ablation["variants"][1]["quality_passed"] == true);
  CHECK(ablation["variants"][2]["quality_passed"] == false);
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 3);
}

TEST_CASE("a loss that is no number in one variant invalidates the ablation", "[ablate]") {
  const TemporaryFolder out;
  const Outcome outcome = ablate_once(out / "a.json", {"--set", "losses=1,1,1,1,nan"});
  CHECK(outcome.code == 3);
  CHECK_THAT(outcome.out, Catch::Contains("finite-loss"));
  CHECK(read_json(out / "a.json")["variants"][0]["turns"].size() == 2);
}

TEST_CASE("a variant that fails half way leaves an aborted file, one that cannot start none",
          "[ablate]") {
  const TemporaryFolder out;
  // Two steps of warm-up, and two rounds of one step.
  const Outcome failed = ablate_once(out / "a.json", {"--set", "fail-at=5"});
  CAPTURE(failed.err);
  CHECK(failed.code == 2);
  CHECK_THAT(failed.err, Catch::Contains(", cluster 1: it says: null: told to fail at step 5"));
  const json ablation = read_json(out / "a.json");
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
  const json ablation = read_json(out / "a.json");
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
