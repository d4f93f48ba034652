// End to end: the built program, the null workload, real files, real signals.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "harness/base/files.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

json only_result(const fs::path& folder) {
  const std::vector<fs::path> files = files_ending(folder, ".json");
  REQUIRE(files.size() == 1);
  return json::parse(read_file(files.front(), 64 << 20));
}

Outcome run_null(const fs::path& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"run",       "--workload", "null",      "--set",
                                        "step-ms=0", "--out",      out.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_harness(arguments);
}

std::vector<double> losses(const json& result) {
  for (const json& metric : result["metrics"]) {
    if (metric["tag"] != "loss.total") continue;
    std::vector<double> values;
    for (const json& sample : metric["samples"]) values.push_back(sample["value"]);
    return values;
  }
  return {};
}

}  // namespace

TEST_CASE("help, version and list answer", "[cli]") {
  CHECK(run_harness({"--help"}).code == 0);
  CHECK_THAT(run_harness({"--version"}).out, Catch::StartsWith("harness "));
  for (const char* command : {"list", "doctor", "run", "ablate", "verify", "validate", "compare",
                              "check-log", "report", "submit"}) {
    const Outcome help = run_harness({command, "--help"});
    CHECK(help.code == 0);
    CHECK_THAT(help.out, Catch::Contains(" --help "));
  }
  const std::string text = run_harness({"list"}).out;
  CHECK(badly_set(text, 100).empty());
  CHECK_THAT(text, HasLines({"    --kernels          of nothing (default reference)"}));
  CHECK_THAT(text, HasLines({"    --precision        fp32|bf16 (default fp32)"}));
  const json list = json::parse(run_harness({"list", "--json"}).out);
  REQUIRE(!list["workloads"].empty());
  CHECK(list["workloads"][0].contains("settings"));
  CHECK(list["workloads"][0]["tiers"].contains("quick"));
  CHECK(list["workloads"][0]["defaults"].contains("kernels"));
  REQUIRE(list["scenarios"].size() == 6);
  CHECK(list["scenarios"].back()["name"] == "steps");
  CHECK(list["scenarios"].back()["unit"] == "step");
  CHECK_THAT(text, HasLines({"steps", "    a number of steps, each timed on its own"}));
}

TEST_CASE("doctor answers as text and as JSON", "[cli]") {
  CHECK(run_harness({"doctor"}).code == 0);
  const json document = json::parse(run_harness({"doctor", "--json"}).out);
  CHECK(document["findings"].is_array());
  CHECK(document["system"].is_object());
}

TEST_CASE("a run leaves one valid result and its samples", "[cli]") {
  const TemporaryFolder out;
  const Outcome outcome = run_null(out.path());
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, HasLines({"status   valid*"}));
  const json result = only_result(out.path());
  CHECK(result["kind"] == "run");
  CHECK(result["notice"] == "Result not verified by MLCommons Association.");
  CHECK(result["status"]["state"] == "valid");
  CHECK(result["workload"]["division"] == "closed");
  CHECK(result["workload"]["scenario"] == "steps");
  CHECK(losses(result).size() == 22);
  const std::vector<json> lines = lines_of(files_ending(out.path(), ".jsonl").at(0));
  CHECK(lines.front()["event"] == "start");
  CHECK(lines.front()["run"] == result["identity"]["uuid"]);
  CHECK(lines.back()["event"] == "finished");
  CHECK(std::count_if(lines.begin(), lines.end(),
                      [](const json& line) { return line["event"] == "step"; }) == 22);
  CHECK(run_harness({"validate", files_ending(out.path(), ".json").at(0).string()}).code == 0);
}

TEST_CASE("validate takes folders, and every result below them", "[cli]") {
  const TemporaryFolder out;
  CHECK(run_null(out / "a" / "b").code == 0);
  CHECK(run_null(out / "c").code == 0);
  std::ofstream(out / "note.txt") << "no result";
  std::ofstream(out / "run.schema.json") << "{}";
  const Outcome good = run_harness({"validate", out.path().string()});
  CAPTURE(good.out, good.err);
  CHECK(good.code == 0);
  CHECK(std::count(good.out.begin(), good.out.end(), '\n') >= 2);
  CHECK_THAT(good.out, HasLines({"*/a/b/*.json: valid*"}) && HasLines({"*/c/*.json: valid*"}) &&
                           !Catch::Contains("schema"));
  std::ofstream(out / "a" / "broken.json") << "{";
  CHECK(run_harness({"validate", out.path().string()}).code == 1);
  fs::create_directories(out / "empty");
  check_one_error(run_harness({"validate", (out / "empty").string()}), 1, "holds no result file");
}

TEST_CASE("by default results go to a new folder under runs/", "[cli]") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_harness({"run", "--workload", "null", "--set", "step-ms=0"}, {}, folder.path());
  CHECK(outcome.code == 0);
  const auto runs = fs::directory_iterator(folder / "runs");
  CHECK(files_ending(runs->path(), ".json").size() == 1);
}

TEST_CASE("usage errors are one line and exit 1", "[cli]") {
  check_one_error(run_harness({"rnu"}), 1, "did you mean run?");
  check_one_error(run_harness({"run"}), 1, "--workload");
  check_one_error(run_harness({"run", "--workload", "nul"}), 1, "did you mean null?");
  check_one_error(run_harness({"run", "--workload", "null", "--teir", "quick"}), 1, "tier");
  check_one_error(run_harness({"run", "--workload", "null", "--batch-size", "many"}), 1,
                  "not a whole number");
  check_one_error(run_harness({"run", "--workload", "null", "--batch-size", "0"}), 1,
                  "--batch-size 0");
  check_one_error(run_harness({"run", "--workload", "null", "--batch-size", "-1"}), 1,
                  "--batch-size -1");
  check_one_error(run_harness({"run", "--workload", "null", "--batch-size", "1000000000"}), 1,
                  "needs about");
  check_one_error(run_harness({"run", "--workload", "null", "--tier", "fast"}), 1, "known: ");
  check_one_error(run_harness({"run", "--workload", "null", "--kernels", "fastest"}), 1, "custom");
  check_one_error(run_harness({"run", "--workload", "null", "--set", "colour=red"}), 1,
                  "no setting 'colour'");
  check_one_error(run_harness({"run", "--workload", "null", "--set", "step-ms=soon"}), 1,
                  "not a list of numbers");
  check_one_error(run_harness({"run", "--workload", "null", "--seed", "-5"}), 1, "--seed -5");
  check_one_error(run_harness({"run", "--workload", "null", "stray"}), 1, "stray");
  check_one_error(run_harness({"run", "--workload", "null", "--resume", "x"}), 1, "--resume");
  for (const char* setting :
       {"memory=1e300", "memory=nan", "memory=-1", "flops=1e300", "flops=nan", "flops=-1",
        "step-ms=nan", "step-ms=-5", "step-ms=1,nan", "fail-at=nan", "fail-at=-1"}) {
    check_one_error(run_harness({"run", "--workload", "null", "--set", setting}), 1,
                    "out of range");
  }
  check_one_error(
      run_harness({"run", "--workload", "null", "--kernels", "nothing=custom,nothing=reference"}),
      1, "'nothing' is given more than once");
  for (const char* option : {"--out", "--data", "--cpus", "--kernels"}) {
    check_one_error(run_harness({"run", "--workload", "null", option, ""}), 1,
                    std::string(option) + ": is empty");
  }
  check_one_error(run_harness({"run", "--workload", "null", "--division", "foo"}), 1,
                  "--division 'foo': unknown (known: closed, open)");
  check_one_error(run_harness({"run", "--workload"}), 1, "harness: run: ");
  check_one_error(run_harness({"check-log"}), 1, "harness: check-log: no file given");
  check_one_error(run_harness({"check-log", "--rules", "../null", "x.log"}), 1,
                  "is no file of rules/");
  check_one_error(run_harness({"submit", "x.json", "--to"}), 1, "Option 'to' is missing");
  check_one_error(run_harness({"validate"}), 1, "harness: validate: no file given");
  check_one_error(run_harness({"verify", "--golden", "/nowhere"}), 1, "/nowhere");
  check_one_error(run_harness({"validate"}), 1, "no file given");
  check_one_error(run_harness({"list"}, {"HARNESS_HOME=/nowhere"}), 1, "HARNESS_HOME");
}

TEST_CASE("output folders that cannot be used are refused before anything runs", "[cli]") {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  check_one_error(run_null(folder / "file" / "below"), 1, "cannot create the folder");
  check_one_error(run_null("/proc/harness"), 1, "/proc/harness");
  CHECK(fs::file_size(folder / "file") == 1);
}

TEST_CASE("a read-only output folder is refused", "[cli]") {
  if (::geteuid() == 0) return;  // root writes anywhere; the container's user decides
  const TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0500);
  check_one_error(run_null(folder.path()), 1, "cannot write there");
  ::chmod(folder.path().c_str(), 0700);
}

TEST_CASE("a workload that cannot be prepared leaves no result", "[cli]") {
  const TemporaryFolder out;
  const Outcome outcome = run_null(out.path(), {"--set", "fail-prepare=yes"});
  CHECK(refusal_in(outcome).about == "null");
  CHECK(refusal_in(outcome).why == "told to fail while preparing");
  CHECK(files_ending(out.path(), ".json").empty());
}

TEST_CASE("a run that fails half way is aborted, exits 2 and keeps its samples", "[cli]") {
  const TemporaryFolder out;
  const Outcome outcome = run_null(out.path(), {"--set", "fail-at=9"});
  CHECK(outcome.code == 2);
  const json result = only_result(out.path());
  CHECK(result["status"]["state"] == "aborted");
  CHECK(losses(result).size() == 8);
  CHECK(run_harness({"validate", files_ending(out.path(), ".json").at(0).string()}).code == 3);
}

TEST_CASE("a loss that is no number makes the result invalid, and it stays readable", "[cli]") {
  const TemporaryFolder out;
  const Outcome outcome = run_null(out.path(), {"--set", "losses=1,1,1,nan"});
  CHECK(outcome.code == 3);
  CHECK_THAT(outcome.out, Catch::Contains("finite-loss.total"));
  CHECK(only_result(out.path())["status"]["state"] == "invalid");
}

TEST_CASE("a missed quality target exits 3", "[cli]") {
  const TemporaryFolder out;
  const Outcome outcome = run_null(out.path(), {"--set", "quality=0.4"});
  CHECK(outcome.code == 3);
  CHECK_THAT(outcome.out, HasLines({"quality: *MISSED*"}));
}

TEST_CASE("a dry run says that it is none", "[cli]") {
  const TemporaryFolder out;
  CHECK(run_null(out.path(), {"--dry-run"}).code == 0);
  const json result = only_result(out.path());
  CHECK(result["status"]["state"] == "dry-run");
  CHECK(losses(result).size() == 3);
}

TEST_CASE("departures make the division open; closed refuses them", "[cli]") {
  const TemporaryFolder out;
  CHECK(run_null(out.path(), {"--batch-size", "2"}).code == 0);
  const json result = only_result(out.path());
  CHECK(result["workload"]["division"] == "open");
  CHECK(result["workload"]["departures"][0]["path"] == "/settings/effective/batch_size");
  check_one_error(run_null(out.path(), {"--batch-size", "2", "--division", "closed"}), 1,
                  "--division closed");
}

TEST_CASE("a series is one result per process, with one series id and its own seeds", "[cli]") {
  const TemporaryFolder out;
  const Outcome outcome = run_null(out.path(), {"--runs", "3"});
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  const std::vector<fs::path> files = files_ending(out.path(), ".json");
  REQUIRE(files.size() == 3);
  std::vector<std::uint32_t> seeds;
  std::vector<int> positions;
  std::vector<std::string> series;
  for (const fs::path& file : files) {
    const json result = json::parse(read_file(file, 64 << 20));
    seeds.push_back(result["seeds"]["run"]);
    positions.push_back(result["identity"]["run_index"]);
    series.push_back(result["identity"]["series_id"]);
    CHECK(result["identity"]["run_count"] == 3);
  }
  std::sort(positions.begin(), positions.end());
  CHECK(positions == std::vector<int>{1, 2, 3});
  CHECK((series[0] == series[1] && series[1] == series[2]));
  CHECK((seeds[0] != seeds[1] && seeds[1] != seeds[2]));
  CHECK(files_ending(out.path(), ".jsonl").size() == 3);
}

TEST_CASE("run --from repeats settings and seeds", "[cli]") {
  const TemporaryFolder first;
  REQUIRE(
      run_null(first.path(), {"--seed", "77", "--batch-size", "3", "--set", "losses=5,4,3"}).code ==
      0);
  const std::string file = files_ending(first.path(), ".json").at(0).string();
  const TemporaryFolder second;
  REQUIRE(run_harness({"run", "--from", file, "--out", second.path().string()}).code == 0);
  const json a = only_result(first.path());
  const json b = only_result(second.path());
  CHECK(a["settings"]["effective"] == b["settings"]["effective"]);
  CHECK(a["seeds"] == b["seeds"]);
  CHECK(losses(a) == losses(b));
  check_one_error(run_harness({"run", "--from", "/nowhere.json"}), 1, "/nowhere.json");
}

TEST_CASE("Ctrl-C ends cleanly with an aborted result that holds what was measured", "[cli]") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const TemporaryFolder out;
    Process process({"run", "--workload", "null", "--set", "step-ms=20", "--tier", "standard",
                     "--runs", "1", "--out", out.path().string()});
    wait_for_first_step(out.path());
    process.signal(signal);
    const Outcome outcome = process.wait();
    CAPTURE(outcome.err);
    CHECK(outcome.code == 2);
    const json result = only_result(out.path());
    CHECK(result["status"]["state"] == "aborted");
    const std::vector<json> lines = lines_of(files_ending(out.path(), ".jsonl").at(0));
    const auto steps = std::count_if(lines.begin(), lines.end(),
                                     [](const json& line) { return line["event"] == "step"; });
    CHECK(static_cast<std::size_t>(steps) == losses(result).size());
    CHECK(steps > 0);
  }
}

TEST_CASE("Ctrl-C ends a series: the run in progress is aborted, no further one starts", "[cli]") {
  const TemporaryFolder out;
  Process process({"run", "--workload", "null", "--set", "step-ms=20", "--runs", "3", "--out",
                   out.path().string()});
  wait_for_first_step(out.path());
  process.signal(SIGINT);
  CHECK(process.wait().code == 2);
  CHECK(only_result(out.path())["status"]["state"] == "aborted");
}

TEST_CASE("kill -9 at twenty random moments loses no completed step", "[cli]") {
  std::mt19937 random(20261);  // fixed, so that a failure can be repeated
  for (int attempt = 0; attempt < 20; ++attempt) {
    const TemporaryFolder out;
    Process process({"run", "--workload", "null", "--set", "step-ms=2", "--tier", "standard",
                     "--runs", "1", "--out", out.path().string()});
    std::this_thread::sleep_for(std::chrono::milliseconds(40 + random() % 400));
    process.signal(SIGKILL);
    process.wait();
    CHECK(files_ending(out.path(), ".json").empty());
    CHECK(files_ending(out.path(), ".tmp").empty());
    for (const fs::path& file : files_ending(out.path(), ".jsonl")) {
      // A torn last line would be a step that had not been completed; whole lines must parse and be
      // numbered without a gap.
      std::int64_t expected = 1;
      const std::string text = read_file(file, 64 << 20);
      std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
      for (std::string line; std::getline(lines, line);) {
        const json event = json::parse(line);
        if (event["event"] == "step") CHECK(event["step"] == expected++);
      }
      CHECK(text.size() == text.rfind('\n') + 1);
      if (attempt > 0) continue;
      CHECK_THAT(run_harness({"validate", out.path().string()}).err,
                 Catch::Contains(file.filename().string() + " there holds the samples"));
    }
  }
}

TEST_CASE("a full disk is one clear error and what was measured stays", "[cli]") {
  const TemporaryFolder out;
  const Outcome outcome =
      run_on_full_disk({"run", "--workload", "null", "--set", "step-ms=0", "--tier", "standard",
                        "--runs", "1", "--out", out.path().string()},
                       out.path());
  CAPTURE(outcome.out, outcome.err);
  // The samples were the first that did not fit, which ended the run.
  CHECK(outcome.code == 2);
  const std::vector<std::string> errors = error_lines(outcome);
  REQUIRE(errors.size() == 2);
  CHECK_THAT(errors[0], Catch::Contains(".jsonl: cannot append a sample: File too large (free"));
  CHECK_THAT(errors[1], HasLines({"*cannot write it: File too large*nor could it be kept as*"}));
  CHECK(files_ending(out.path(), ".tmp").empty());
  CHECK(files_ending(out.path(), ".json").empty());
  CHECK_FALSE(lines_of(files_ending(out.path(), ".jsonl").at(0)).empty());
  CHECK_THAT(outcome.out, HasLines({"time.step *"}));
}

TEST_CASE("a disk that fills up is named when it happens, and nothing measured is lost", "[cli]") {
  const auto in_own_mounts = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"-r", "-m", "bash", "-c"});
    return Process(arguments, {}, {}, "unshare").wait();
  };
  if (in_own_mounts({"mount -t tmpfs none /mnt"}).code != 0) {
    WARN("no small disk can be had here: unshare or mount is not allowed");
    return;
  }
  const TemporaryFolder disk;
  const TemporaryFolder elsewhere;
  const std::string script =
      "mount -t tmpfs -o size=64k none \"$1\" || exit 99\n"
      "TMPDIR=\"$2\" \"$3\" run --workload null --set step-ms=0 --tier standard --runs 1 --out "
      "\"$1\"\ncode=$?\ncp \"$1\"/*.jsonl \"$2\"\nexit $code";
  const Outcome outcome = in_own_mounts(
      {script, "bash", disk.path().string(), elsewhere.path().string(), harness_program()});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  const std::vector<std::string> errors = error_lines(outcome);
  REQUIRE(errors.size() == 2);
  CHECK_THAT(errors[0], Catch::Contains(".jsonl: cannot append a sample: No space left on device"));
  CHECK_THAT(errors[1], HasLines({"*.json: cannot *the result is kept as " +
                                  elsewhere.path().string() + "*"}));
  CHECK_THAT(outcome.out, Catch::Contains("cannot append a sample"));
  const json result = only_result(elsewhere.path());
  CHECK(result["status"]["state"] == "aborted");
  const std::vector<json> lines = lines_of(files_ending(elsewhere.path(), ".jsonl").at(0));
  const auto steps = std::count_if(lines.begin(), lines.end(),
                                   [](const json& line) { return line["event"] == "step"; });
  CHECK(steps > 100);
  // The step whose line did not fit is in the result.
  CHECK(losses(result).size() == static_cast<std::size_t>(steps) + 1);
}
