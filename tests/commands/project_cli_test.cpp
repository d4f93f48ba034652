// End to end: `harness project` on profiles of the null workload.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/files_of_runs.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A profile of null, and a folder for what project writes.
struct Profiled {
  TemporaryFolder folder{};
  TemporaryFolder out{};
  fs::path file{};

  explicit Profiled(const std::vector<std::string>& more = {}) {
    const Outcome outcome = run_harness(profile_null(folder.path(), more));
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    file = only_file(folder.path(), ".json");
  }

  std::vector<std::string> project(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"project", file.string(), "--out", out.path().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

}  // namespace

TEST_CASE("project tells what a step costs, and how far that is off", "[projection][long]") {
  const Profiled profile;
  const Outcome outcome = run_harness(profile.project({"--json", "--rounds", "6"}));
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json report = json::parse(outcome.out);
  const double projected = report["projected_seconds"];
  const double measured = report["measured_seconds"];
  CHECK(projected >= 0.003);
  CHECK(measured >= 0.003);
  CHECK(report["relative_error"].get<double>() == Approx(projected / measured - 1));
  CHECK(report["rounds"].size() == 6);
  CHECK(report["projected_interval"]["low"].get<double>() <= projected);
  CHECK(report["scaled_by"] == "replays");
  CHECK(report["profile"] == read_json(profile.file)["identity"]["uuid"]);
  double parts = 0, replayed = 0;
  for (const json& part : report["parts"]) {
    const double seconds = part["projected_seconds"];
    parts += seconds;
    if (part["replayed"].get<bool>()) replayed += seconds;
  }
  CHECK(parts == Approx(projected).epsilon(0.05));
  CHECK(replayed > 0);
  CHECK(report["explained"].get<double>() == Approx(replayed / projected).epsilon(0.05));
  CHECK(report["explained"].get<double>() <= 1);
  REQUIRE(report["problem_files"].size() == 1);
  const std::string problems = read_file(report["problem_files"][0].get<std::string>(), 1 << 20);
  CHECK_THAT(problems, Catch::Contains("--reset --sdt=f32"));
}

TEST_CASE("project without --json is for people", "[projection]") {
  const Profiled profile;
  const Outcome outcome = run_harness(profile.project({"--rounds", "2"}));
  CHECK(outcome.code == 0);
  for (const char* word :
       {"projection of null", "projected", "measured", "error", "reorder", "replay", "benchdnn"}) {
    CHECK_THAT(outcome.out, Catch::Contains(word));
  }
}

TEST_CASE("project replays under other settings", "[projection]") {
  const Profiled profile({"--set", "bf16-speedup=2"});
  const Outcome outcome =
      run_harness(profile.project({"--json", "--set", "precision=bf16", "--set", "threads=1"}));
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json report = json::parse(outcome.out);
  CHECK(report["what_if"] == json{{"precision", "bf16"}, {"threads", "1"}});
  CHECK(report["projected_seconds"].get<double>() < 0.9 * report["recorded_seconds"].get<double>());
}

TEST_CASE("project --no-measure measures no step", "[projection][long]") {
  const Profiled profile;
  const Outcome outcome = run_harness(profile.project({"--json", "--no-measure"}));
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json report = json::parse(outcome.out);
  CHECK(report["measured_seconds"].is_null());
  CHECK(report["relative_error"].is_null());
  CHECK(report["rounds"].size() == 5);
}

TEST_CASE("project refuses what it cannot do", "[projection]") {
  const Profiled profile;
  const auto refused = [](const std::vector<std::string>& arguments, int code,
                          const std::string& why) {
    const Outcome outcome = run_harness(arguments);
    CAPTURE(arguments, outcome.out, outcome.err);
    CHECK(outcome.code == code);
    CHECK_THAT(outcome.err, Catch::Contains(why));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  };
  refused({"project"}, 1, "needs one profile");
  refused({"project", "a.json", "b.json"}, 1, "needs one profile");
  refused({"project", "/nowhere/at/all.json"}, 1, "all.json");
  refused(profile.project({"--set", "precision=fp8"}), 1, "fp8");
  refused(profile.project({"--set", "precison=bf16"}), 1, "precision");
  refused(profile.project({"--set", "batch-size=0"}), 1, "too small: at least 1");
  refused(profile.project({"--set", "batch-size=many"}), 1, "not a whole number from 1 to");
  refused(profile.project({"--set", "batch-size=2", "--set", "batch-size=3"}), 1, "twice");
  refused(profile.project({"--set", "threads"}), 1, "not a whole number from 1 to");
  refused(profile.project({"--rounds", "0"}), 1, "too small: at least 1");
  const Profiled narrow({"--precision", "bf16"});
  refused(narrow.project({"--set", "precision=fp32"}), 1, "says nothing about fp32");

  const TemporaryFolder run;
  REQUIRE(
      run_harness({"run", "--workload", "null", "--tier", "quick", "--out", run.path().string()})
          .code == 0);
  refused({"project", only_file(run.path(), ".json").string()}, 1, "is no profile");
  json damaged = read_json(profile.file);
  damaged["profile"]["steps"] = 7;
  write_file_atomically(profile.file, damaged.dump());
  refused(profile.project(), 1, "digest");
  rewrite(profile.file, damaged);
  refused(profile.project(), 3, "steps");
}

TEST_CASE("a profile without primitives has nothing to replay", "[projection]") {
  const Profiled profile;
  json changed = read_json(profile.file);
  changed["profile"]["primitives"] = json::array();
  changed["profile"]["operators"][0]["primitive_seconds"] = 0;
  changed["profile"]["operators"][0]["reorder_seconds"] = 0;
  rewrite(profile.file, changed);
  const Outcome outcome = run_harness(profile.project());
  CAPTURE(outcome.err);
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.err, Catch::Contains("no primitive"));
}

TEST_CASE("rounds before Ctrl-C count", "[projection]") {
  const Profiled profile({"--set", "step-ms=50"});
  Process process(profile.project({"--json", "--no-measure", "--rounds", "100"}));
  wait_for_error_text(process, "replaying: ");
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  REQUIRE(stop_lines(outcome).size() == 1);
  CHECK_THAT(stop_lines(outcome)[0], Catch::Contains("after the current primitive"));
  const json report = json::parse(outcome.out);
  CHECK(!report["rounds"].empty());
  CHECK(report["rounds"].size() < 100);
  CHECK(report["projected_seconds"].get<double>() >= 0.05);
}
