// End to end: stdin, stdout and stderr that are closed, full or read by nobody cost no result.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

namespace {

/// stdout is number 4, a pipe whose reader has gone.
constexpr const char* kBrokenPipe = "exec 4> >(true); wait $!";

std::vector<std::string> quick_run(const fs::path& out) {
  return {"run", "--workload", "null", "--set", "step-ms=0", "--out", out.string()};
}

void check_valid_result(const fs::path& out) {
  const std::vector<fs::path> results = files_ending(out, ".json");
  REQUIRE(results.size() == 1);
  CHECK(run_harness({"validate", results.front().string()}).code == 0);
  const std::vector<nlohmann::json> lines = lines_of(files_ending(out, ".jsonl").at(0));
  CHECK(lines.back()["event"] == "finished");
}

void check_lost(const Outcome& outcome, const std::string& why) {
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 1);
  const std::vector<std::string> errors = error_lines(outcome);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0] == "harness: standard output: not all could be written: " + why);
}

}  // namespace

TEST_CASE("a summary that stdout does not take is said, and the result is there", "[streams]") {
  struct Case {
    const char* before;
    const char* redirections;
    const char* why;
  };
  for (const Case& item : {Case{kBrokenPipe, ">&4 4>&-", "Broken pipe"},
                           Case{":", ">/dev/full", "No space left on device"},
                           Case{":", ">&-", "Bad file descriptor"}}) {
    const TemporaryFolder out;
    check_lost(run_in_shell(item.before, quick_run(out.path()), item.redirections), item.why);
    check_valid_result(out.path());
  }
}

TEST_CASE("a long answer that stdout does not take ends no process", "[streams]") {
  for (const char* command : {"list", "doctor"}) {
    check_lost(run_in_shell(":", {command, "--json"}, ">/dev/full"), "No space left on device");
  }
  check_lost(run_in_shell(kBrokenPipe, {"doctor", "--json"}, ">&4 4>&-"), "Broken pipe");
  check_lost(run_in_shell(":", {"run", "--help"}, ">/dev/full"), "No space left on device");
}

TEST_CASE("validate says that its answer was lost", "[streams]") {
  const TemporaryFolder out;
  REQUIRE(run_harness(quick_run(out.path())).code == 0);
  const std::string file = files_ending(out.path(), ".json").at(0).string();
  check_lost(run_in_shell(":", {"validate", file}, ">/dev/full"), "No space left on device");
}

TEST_CASE("a reader who has seen enough of an answer may go", "[streams]") {
  for (const char* command : {"list", "help"}) {
    const Outcome outcome = run_in_shell(kBrokenPipe, {command}, ">&4 4>&-");
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
  }
  const TemporaryFolder out;
  REQUIRE(run_harness(quick_run(out.path())).code == 0);
  const std::string file = files_ending(out.path(), ".json").at(0).string();
  const std::string damaged = (out / "damaged.json").string();
  std::ofstream(damaged) << "{";
  for (const char* command : {"validate", "report"}) {
    const Outcome outcome = run_in_shell(kBrokenPipe, {command, file}, ">&4 4>&-");
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
  }
  // What it found wrong still counts.
  CHECK(run_in_shell(kBrokenPipe, {"validate", file, damaged}, ">&4 4>&-").code == 1);
  std::string many;
  for (int i = 0; i < 200; ++i) many += " '" + file + "'";
  const Outcome head = Process({"-c", "'" + harness_program() + "' validate" + many +
                                          " | head -n 1; exit ${PIPESTATUS[0]}"},
                               {}, {}, "bash")
                           .wait();
  CHECK(head.code == 0);
  CHECK(head.err.empty());
  CHECK_THAT(head.out, Catch::StartsWith(file + ": valid"));
}

TEST_CASE("progress that stderr does not take costs nothing", "[streams]") {
  for (const char* redirections : {"2>/dev/full", "2>&-", "2>&4 4>&-"}) {
    const TemporaryFolder out;
    CHECK(run_in_shell(kBrokenPipe, quick_run(out.path()), redirections).code == 0);
    // Each line of the samples is JSON: no progress went there instead.
    check_valid_result(out.path());
  }
}

TEST_CASE("with all three streams closed the result is written", "[streams]") {
  const TemporaryFolder out;
  CHECK(run_in_shell(":", quick_run(out.path()), ">&- 2>&- <&-").code == 1);
  check_valid_result(out.path());
}

TEST_CASE("a series goes on when its summaries are lost", "[streams]") {
  const TemporaryFolder out;
  std::vector<std::string> arguments = quick_run(out.path());
  arguments.insert(arguments.end(), {"--runs", "2"});
  check_lost(run_in_shell(":", arguments, ">/dev/full"), "No space left on device");
  CHECK(files_ending(out.path(), ".json").size() == 2);
}

TEST_CASE("an ablation whose summary is lost is written", "[streams]") {
  const TemporaryFolder out;
  const std::string file = (out / "a.json").string();
  const Outcome outcome = run_in_shell(
      ":", {"ablate", "--workload", "null", "--clusters", "1", "--out", file}, ">/dev/full");
  check_lost(outcome, "No space left on device");
  CHECK(run_harness({"validate", file}).code == 0);
}

TEST_CASE("a result that cannot be written where it was wanted is kept, in one line", "[streams]") {
  const TemporaryFolder folder;
  const TemporaryFolder temporary;
  const fs::path out = folder / "out";
  Process process({"run", "--workload", "null", "--set", "step-ms=20", "--out", out.string()},
                  {"TMPDIR=" + temporary.path().string()});
  wait_for_first_step(out);
  fs::remove_all(out);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 1);
  const std::vector<std::string> errors = error_lines(outcome);
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0], Catch::Contains("cannot create it"));
  const std::vector<fs::path> kept = files_ending(temporary.path(), ".json");
  REQUIRE(kept.size() == 1);
  CHECK_THAT(errors[0], Catch::EndsWith("(the result is kept as " + kept[0].string() + ")"));
  CHECK(run_harness({"validate", kept[0].string()}).code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("time.step"));
}

TEST_CASE("an attempt that measured nothing leaves no samples in the way", "[streams]") {
  const TemporaryFolder out;
  std::vector<std::string> failing = quick_run(out.path());
  failing.insert(failing.end(), {"--set", "fail-prepare=yes"});
  CHECK(run_harness(failing).code == 1);
  CHECK(files_ending(out.path(), ".jsonl").empty());

  const std::string file = (out / "z.json").string();
  const std::vector<std::string> ablate = {"ablate", "--workload", "null", "--clusters",
                                           "1",      "--out",      file};
  failing = ablate;
  failing.insert(failing.end(), {"--set", "fail-prepare=yes"});
  CHECK(run_harness(failing).code == 1);
  CHECK(run_harness(ablate).code == 0);
  CHECK(fs::exists(out / "z.jsonl"));
}
