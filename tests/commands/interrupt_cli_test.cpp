// End to end: Ctrl-C at any stage of any command is one message that is true, and loses nothing; a
// signal that was ignored from the start stays so.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/support/training_runs.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kEvaluationEnds = "as soon as the evaluation in progress allows it";

std::ptrdiff_t events(const fs::path& folder, const std::string& name) {
  const std::vector<json> lines = lines_of(files_ending(folder, ".jsonl").at(0));
  return std::count_if(lines.begin(), lines.end(),
                       [&](const json& line) { return line["event"] == name; });
}

}  // namespace

TEST_CASE("a training that is stopped within an evaluation goes on with that evaluation",
          "[training][interrupt]") {
  const TemporaryFolder out;
  Process process(training(out.path(), {"--runs", "1", "--set", "evaluation-ms=2000"}, "0.6"));
  wait_for_line(out.path(), ".log", "eval_start");
  process.signal(SIGINT);
  const Outcome stopped = process.wait();
  CAPTURE(stopped.out, stopped.err);
  CHECK(stopped.code == 2);
  REQUIRE(stop_lines(stopped).size() == 1);
  CHECK_THAT(stop_lines(stopped)[0], Catch::Contains(kEvaluationEnds));
  CHECK(results_in(out.path()).at(0)["training"]["steps"] == 10);
  CHECK(results_in(out.path()).at(0)["training"]["epochs"] == 0);
  const Outcome resumed = run_harness({"run", "--resume", out.path().string()});
  CAPTURE(resumed.out, resumed.err);
  REQUIRE(resumed.code == 0);
  const json result = results_in(out.path()).at(0);
  CHECK(result["training"]["resumed"][0]["steps"] == 10);  // no step is done twice
  CHECK(result["training"]["steps"] == 10);
  CHECK(result["quality"]["value"] == 0.6);
  CHECK(losses_by_step(out.path()).size() == 10);
  CHECK(events(out.path(), "evaluated") == 1);
  check_log_passes(out.path());
  CHECK(is_clean(out.path()));
  CHECK(run_harness({"validate", out.path().string()}).code == 0);
}

TEST_CASE("a run of steps that is stopped within its evaluation keeps every step", "[interrupt]") {
  const TemporaryFolder out;
  Process process({"run", "--workload", "null", "--tier", "quick", "--out", out.path().string(),
                   "--set", "evaluation-ms=30000"});
  wait_for_error(process, "[evaluate]");
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  REQUIRE(stop_lines(outcome).size() == 1);
  CHECK_THAT(stop_lines(outcome)[0], Catch::Contains(kEvaluationEnds));
  const json result = results_in(out.path()).at(0);
  CHECK(result["status"]["state"] == "aborted");
  CHECK(result["metrics"][0]["samples"].size() == 22);
  CHECK(events(out.path(), "step") == 22);
}

TEST_CASE("Ctrl-C while steps are done says that one more ends", "[interrupt]") {
  const TemporaryFolder out;
  Process process({"run", "--workload", "null", "--tier", "standard", "--runs", "1", "--out",
                   out.path().string(), "--set", "step-ms=20"});
  wait_for_first_step(out.path());
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CHECK(outcome.code == 2);
  CHECK(stop_lines(outcome) ==
        std::vector<std::string>{
            "harness: stopping after the current step; once more to stop at once"});
}

TEST_CASE("a second Ctrl-C ends at once and names the samples", "[interrupt]") {
  const TemporaryFolder out;
  const std::string command = GENERATE("run", "profile");
  Process process({command, "--workload", "null", "--set", "step-ms=1,1,1,100000", "--out",
                   out.path().string()});
  wait_for_line(out.path(), ".jsonl", "\"step\":3");
  process.signal(SIGINT);
  wait_for_error(process, "once more to stop at once");
  CHECK(process.running());
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CAPTURE(command, outcome.err);
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err,
             Catch::EndsWith("harness: stopped at once; what was measured is in " +
                             files_ending(out.path(), ".jsonl").at(0).string() + "\n"));
}

TEST_CASE("a run that ends before its clock starts leaves no log of an aborted run",
          "[training][interrupt]") {
  const TemporaryFolder out;
  const Outcome outcome =
      run_harness(training(out.path(), {"--runs", "1", "--set", "fail-prepare=yes"}));
  CHECK(outcome.code == 1);
  CHECK(fs::is_empty(out.path()));
}

TEST_CASE("an evaluation that gives no number is remarked on", "[training][interrupt]") {
  const TemporaryFolder out;
  const Outcome outcome = run_harness(training(out.path(), {"--runs", "1"}, "0.1,nan,0.6"));
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.err, Catch::Contains("epoch 2/5: scripted-quality unknown: not a number"));
  CHECK_THAT(outcome.out,
             Catch::Contains("no scripted-quality was found after epoch 2 (not a number)"));
  CHECK_THAT(read_file(files_ending(out.path(), ".log").at(0), 1 << 20),
             Catch::Contains("harness_no_quality"));
  check_log_passes(out.path());
  CHECK(run_harness({"validate", out.path().string()}).code == 0);
}

TEST_CASE("a signal that was ignored from the start stays ignored", "[interrupt]") {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    CAPTURE(signal);
    const TemporaryFolder out;
    Process process(
        {"-c", "trap '' " + std::to_string(signal) + "; exec '" + harness_program() +
                   "' run --workload null --set step-ms=30 --out '" + out.path().string() + "'"},
        {}, {}, "bash");
    wait_for_first_step(out.path());
    for (int i = 0; i < 3; ++i) process.signal(signal);
    const Outcome outcome = process.wait();
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, !Catch::Contains("stopping"));
    CHECK(results_in(out.path()).at(0)["status"]["state"] == "valid");
  }
}

TEST_CASE("nohup keeps a run alive when the terminal goes", "[interrupt]") {
  const TemporaryFolder out;
  Process process({harness_program(), "run", "--workload", "null", "--set", "step-ms=30", "--out",
                   out.path().string()},
                  {}, {}, "nohup");
  wait_for_first_step(out.path());
  process.signal(SIGHUP);
  CHECK(process.wait().code == 0);
}

TEST_CASE("a series that ignores SIGTERM still stops its run at Ctrl-C", "[interrupt]") {
  const TemporaryFolder out;
  Process process({"-c", "trap '' TERM; exec '" + harness_program() +
                             "' run --workload null --set step-ms=20 --tier standard --runs 2 "
                             "--out '" +
                             out.path().string() + "'"},
                  {}, {}, "bash");
  wait_for_first_step(out.path());
  process.signal(SIGTERM);
  process.signal(SIGINT);
  CHECK(process.wait().code == 2);
  CHECK(results_in(out.path()).at(0)["status"]["state"] == "aborted");
}
