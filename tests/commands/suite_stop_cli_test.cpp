// End to end: `harness suite` that is stopped, killed, or finds damage or a full disk.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "harness/result/digest.hpp"
#include "tests/support/suite_home.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// UUIDs of the valid runs in `out`.
std::set<std::string> finished(const fs::path& out) {
  std::set<std::string> runs;
  for (const fs::path& file : files_ending(out, ".json")) {
    const json document = read_json_file(file);
    if (document["kind"] == "run" && document["status"]["state"] == "valid") {
      runs.insert(document["identity"]["uuid"]);
    }
  }
  return runs;
}

/// Goes on as soon as the run that the dead suite had begun has noticed.
Outcome resume(const SuiteHome& home, const fs::path& out) {
  Outcome outcome;
  wait_until([&] {
    outcome = home.run({"suite", "--resume", out.string()});
    return outcome.err.find("another run is at work") == std::string::npos;
  });
  return outcome;
}

/// All runs are there once, those that had ended are the same, and nothing else is left.
void check_whole(const SuiteHome& home, const fs::path& out, const std::set<std::string>& kept) {
  const json suite = read_suite(out);
  CHECK(suite["status"]["state"] == "valid");
  std::set<std::string> runs;
  for (const json& task : suite["tasks"]) {
    if (task["available"] == true) runs.insert(task["run"]["uuid"]);
  }
  CHECK(runs == finished(out));
  for (const std::string& uuid : kept) CHECK(runs.contains(uuid));
  CHECK(files_ending(out, ".tmp").empty());
  CHECK_FALSE(fs::exists(out / "suite.state"));
  const Outcome validated = home.run({"validate", out.string()});
  INFO(validated.out);
  CHECK(validated.code == 0);
}

std::vector<std::string> suite_into(const fs::path& out) {
  return {"suite", "--out", out.string()};
}

/// A suite in `out`, stopped when one of its runs had ended.
void stop_behind_first_run(const SuiteHome& home, const fs::path& out) {
  home.write({{"step-ms", "20"}});
  Process process(suite_into(out), home.environment(), {}, SuiteHome::program());
  wait_until([&] { return finished(out).size() == 1; });
  process.signal(SIGTERM);
  REQUIRE(process.wait().code == 2);
}

}  // namespace

TEST_CASE("a part of the suite is no closed suite, and nothing of it is measured", "[suite][cli]") {
  const SuiteHome home;
  const TemporaryFolder out;
  check_one_error(home.suite(out.path(), {"--tasks", "null", "--division", "closed"}), 1,
                  "--tasks departs from the rules of the suite");
  CHECK(fs::is_empty(out.path()));
}

TEST_CASE("Ctrl-C ends the present run of a suite and loses no other", "[suite][interrupt][long]") {
  const SuiteHome home;
  home.write({{"step-ms", "20"}});
  const int runs_before = GENERATE(0, 1, 2);
  const TemporaryFolder out;
  // Where another program starts ours, people go on by that one.
  std::vector<std::string> environment = home.environment();
  const std::string program = runs_before == 0 ? "./quickstart" : SuiteHome::program();
  if (runs_before == 0) environment.emplace_back("HARNESS_STARTED_AS=./quickstart");
  Process process(suite_into(out.path()), environment, {}, SuiteHome::program());
  wait_until([&] { return std::ssize(finished(out.path())) >= runs_before; });
  if (runs_before == 0) wait_for_first_step(out.path());
  process.signal(SIGINT);
  const Outcome stopped = process.wait();
  CAPTURE(runs_before, stopped.out, stopped.err);
  CHECK(stopped.code == 2);
  // None where the run had just ended.
  CHECK(stop_lines(stopped).size() <= 1);
  CHECK_THAT(stopped.err, Catch::Contains("to go on from here: " + program + " suite --resume " +
                                          out.path().string() + "\n"));
  CHECK(read_suite(out.path())["status"]["state"] == "aborted");
  CHECK(home.run({"validate", suite_file(out.path()).string()}).code == 3);
  for (const char* reader : {"validate", "report"}) {
    const Outcome read = home.run({reader, out.path().string()});
    CAPTURE(reader, read.out, read.err);
    CHECK(read.code == (std::string(reader) == "report" ? 0 : 3));
    CHECK_THAT(read.out,
               Catch::Contains("an unfinished suite lies there; to go on: " + SuiteHome::program() +
                               " suite --resume " + out.path().string()));
  }
  const std::set<std::string> kept = finished(out.path());
  CHECK(std::ssize(kept) >= runs_before);
  // Another suite keeps out of it.
  check_one_error(home.suite(out.path()), 1, "an unfinished suite lies there");
  const Outcome resumed = home.run({"suite", "--resume", out.path().string()});
  CAPTURE(resumed.out, resumed.err);
  CHECK(resumed.code == 0);
  check_whole(home, out.path(), kept);
  check_one_error(home.run({"suite", "--resume", out.path().string()}), 1, "no unfinished suite");
}

TEST_CASE("Ctrl-C while a suite cools down ends it at once", "[suite][interrupt]") {
  const SuiteHome home;
  home.write({}, 600);
  const TemporaryFolder out;
  Process process(suite_into(out.path()), home.environment(), {}, SuiteHome::program());
  // The last that is said of the first run.
  wait_for_error(process, "null/steps: ");
  process.signal(SIGINT);
  const Outcome stopped = process.wait();
  CAPTURE(stopped.err);
  CHECK(stopped.code == 2);
  CHECK_THAT(stopped.err, Catch::Contains("stopping before the next run"));
  const json suite = read_suite(out.path());
  CHECK(suite["tasks"][0]["run"]["state"] == "valid");
  CHECK(suite["tasks"][1]["missing"]["run"] == "the suite was stopped before it");
}

TEST_CASE("kill -9 at any moment leaves a folder that a suite can go on in", "[suite][long]") {
  const SuiteHome home;
  home.write({{"step-ms", "5"}});
  std::mt19937 random(11);
  for (int attempt = 0; attempt < 4; ++attempt) {
    const TemporaryFolder out;
    std::set<std::string> kept;
    Process first(suite_into(out.path()), home.environment(), {}, SuiteHome::program());
    wait_until([&] { return fs::exists(out / "suite.state"); });
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 900));
    first.signal(SIGKILL);
    first.wait();
    kept = finished(out.path());
    if (!fs::exists(out / "suite.state")) continue;  // it had just ended
    const Outcome resumed = resume(home, out.path());
    CAPTURE(attempt, resumed.out, resumed.err);
    CHECK(resumed.code == 0);
    check_whole(home, out.path(), kept);
  }
}

TEST_CASE("LoadGen's runs of a suite are stopped and gone on with at any moment",
          "[suite][queries][interrupt][long]") {
  if (without_loadgen()) return;
  const SuiteHome home;
  home.write_queries("200");
  std::mt19937 random(23);
  for (int attempt = 0; attempt < 4; ++attempt) {
    const TemporaryFolder out;
    Process first(suite_into(out.path()), home.environment(), {}, SuiteHome::program());
    wait_until([&] { return fs::exists(out / "suite.state"); });
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 3000));
    const int signal = attempt % 2 == 0 ? SIGINT : SIGKILL;
    first.signal(signal);
    const Outcome stopped = first.wait();
    const std::set<std::string> kept = finished(out.path());
    CAPTURE(attempt, stopped.code, stopped.err);
    if (!fs::exists(out / "suite.state")) continue;  // it had just ended
    const Outcome resumed = resume(home, out.path());
    CAPTURE(resumed.err);
    CHECK(resumed.code == 0);
    check_whole(home, out.path(), kept);
  }
}

TEST_CASE("a run of a suite whose process is killed is missing, the others are not", "[suite]") {
  const SuiteHome home;
  home.write({{"step-ms", "50"}});
  const TemporaryFolder out;
  Process process(suite_into(out.path()), home.environment(), {}, SuiteHome::program());
  wait_for_first_step(out.path());
  const std::string children = "/proc/" + std::to_string(process.id()) + "/task/" +
                               std::to_string(process.id()) + "/children";
  pid_t child = 0;
  std::ifstream(children) >> child;
  REQUIRE(child > 0);
  ::kill(child, SIGKILL);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.err);
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err, Catch::Contains("ended by signal 9"));
  const json suite = read_suite(out.path());
  CHECK(suite["status"]["state"] == "invalid");
  CHECK(suite["tasks"][0]["run"].is_null());
  CHECK(suite["tasks"][2]["run"]["state"] == "valid");
}

TEST_CASE("what was damaged in a suite's folder is named and measured again", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  stop_behind_first_run(home, out.path());
  const fs::path damaged =
      out / read_suite(out.path())["tasks"][0]["run"]["file"].get<std::string>();
  SECTION("a result that is cut off") { fs::resize_file(damaged, fs::file_size(damaged) / 2); }
  SECTION("a result with another number") {
    std::string text = read_file(damaged, 1 << 24);
    text.replace(text.find("\"min_steps\": 20"), 15, "\"min_steps\": 19");
    std::ofstream(damaged) << text;
  }
  const Outcome resumed = home.run({"suite", "--resume", out.path().string()});
  CAPTURE(resumed.err);
  CHECK(resumed.code == 0);
  CHECK_THAT(resumed.err, Catch::Contains(damaged.filename().string() + ": passed over"));
  const json suite = read_suite(out.path());
  CHECK(suite["status"]["state"] == "valid");
  CHECK(suite["tasks"][0]["run"]["file"] != damaged.filename().string());
}

TEST_CASE("a suite that goes on keeps no result of another set-up", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  stop_behind_first_run(home, out.path());
  const std::string before = *finished(out.path()).begin();
  SECTION("the rules of a task") {
    json rules = read_json_file(home / "rules/null.json");
    rules["version"] = "9.0.0";
    std::ofstream(home / "rules/null.json") << rules;
  }
  SECTION("a setting of a task") { home.write({{"step-ms", "1"}}); }
  const Outcome resumed = home.run({"suite", "--resume", out.path().string()});
  CAPTURE(resumed.err);
  CHECK(resumed.code == 0);
  CHECK_THAT(resumed.err, Catch::Contains("to be measured again"));
  const json suite = read_suite(out.path());
  CHECK(suite["status"]["state"] == "valid");
  CHECK(suite["tasks"][0]["run"]["uuid"] != before);
  CHECK(finished(out.path()).contains(before));  // it stays what it is
}

TEST_CASE("a suite does not go on with a damaged state", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  stop_behind_first_run(home, out.path());
  SECTION("cut off") {
    fs::resize_file(out / "suite.state", 20);
    check_one_error(home.run({"suite", "--resume", out.path().string()}), 1, "is damaged");
  }
  SECTION("of something else") {
    std::ofstream(out / "suite.state") << R"({"format": "harness-series/1"})";
    check_one_error(home.run({"suite", "--resume", out.path().string()}), 1, "has the format");
  }
  CHECK(finished(out.path()).size() == 1);
}

TEST_CASE("two suites do not work in one folder", "[suite]") {
  const SuiteHome home;
  home.write({{"step-ms", "30"}});
  const TemporaryFolder out;
  Process process(suite_into(out.path()), home.environment(), {}, SuiteHome::program());
  wait_for_first_step(out.path());
  check_one_error(home.run({"suite", "--resume", out.path().string()}), 1,
                  "another run is at work");
  process.signal(SIGINT);
  process.wait();
}

TEST_CASE("a full disk costs a suite neither its summary nor what was measured", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  std::string command = "ulimit -f 8; trap '' XFSZ; exec '" + SuiteHome::program() + "'";
  for (const std::string& argument : suite_into(out / "suite")) command += " '" + argument + "'";
  fs::create_directory(out / "temporary");
  std::vector<std::string> environment = home.environment();
  environment.push_back("TMPDIR=" + (out / "temporary").string());
  const Outcome outcome = Process({"-c", command}, environment, {}, "bash").wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 1);
  CHECK_FALSE(error_lines(outcome).empty());
  CHECK(files_ending(out / "suite", ".tmp").empty());
  CHECK_FALSE(files_ending(out / "suite", ".jsonl").empty());
  // With room again it goes on, if it had begun, or begins.
  const bool begun = fs::exists(out / "suite" / "suite.state");
  CHECK((begun ? home.run({"suite", "--resume", (out / "suite").string()})
               : home.suite(out / "suite"))
            .code == 0);
}

TEST_CASE("a suite passes on what its runs say of their precision", "[suite]") {
  const SuiteHome home;
  home.write({{"quality", "0.1"}});
  const TemporaryFolder out;
  REQUIRE(home.suite(out.path()).code == 3);
  // The file of a valid run, as a machine of slow int8 would have left it.
  const fs::path file = out / read_suite(out.path())["tasks"][2]["run"]["file"].get<std::string>();
  json run = read_json_file(file);
  run["status"]["recommendations"].push_back(
      "int8 is slower than fp32 on this machine: measure in fp32 (--precision fp32)");
  run["digest"] = digest_of(run);
  std::ofstream(file) << run;
  home.write({});
  const Outcome outcome = home.run({"suite", "--resume", out.path().string()});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("  advice: int8 is slower than fp32"));
  const json suite = read_suite(out.path());
  CHECK(suite["tasks"][2]["run"]["uuid"] == run["identity"]["uuid"]);
  CHECK_THAT(suite["status"]["recommendations"].dump(),
             Catch::Contains("(--precision fp32): stub-train/steps\""));
  CHECK(home.run({"validate", suite_file(out.path()).string()}).code == 0);
}
