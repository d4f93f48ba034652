// End to end: `harness gate` over files and over commands that it runs in turn.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::string null_run(const std::string& more = "") {
  return harness_program() + " run --workload null --set step-ms=3 " + more;
}

std::vector<std::string> gate(const fs::path& out, const std::string& baseline,
                              const std::string& candidate,
                              const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {
      "gate",     "--ab-base", baseline,   "--ab-cand", candidate, "--out",        out.string(),
      "--format", "json",      "--metric", "time.step", "--whole", "--allow-debug"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("a slower candidate is found by running both in turn", "[gate][cli][long]") {
  const TemporaryFolder folder;
  const fs::path out = folder / "campaign";
  const Outcome outcome = run_harness(gate(out, null_run("--set custom-speedup=0.7"),
                                           null_run("--set custom-speedup=0.7 --kernels custom")));
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 4);
  const json report = json::parse(outcome.out);
  CHECK(report["verdict"] == "regressed");
  const json& row = report["rows"][0];
  CHECK(row["metric"] == "time.step");
  CHECK(row["improvement"]["high"].get<double>() < 0.9);
  CHECK(row["n"].get<int>() >= 8);
  CHECK_THAT(row["repeat"].get<std::string>(),
             Catch::StartsWith(harness_program() + " gate --ab-base"));
  REQUIRE(report["differences"].size() == 1);
  CHECK(report["differences"][0]["name"] == "kernels");
  CHECK_THAT(outcome.err, Catch::Contains("pair 6 of at most 96"));
  CHECK_FALSE(lines_of(out / "plan.jsonl").empty());

  // Judged again from its files: the same pairs, the same verdict.
  const Outcome again = run_harness(
      {"gate", "--allow-debug", "--baseline", (out / "baseline").string(), "--candidate",
       (out / "candidate").string(), "--format", "json", "--metric", "time.step"});
  CAPTURE(again.out, again.err);
  CHECK(again.code == 4);
  const json second = json::parse(again.out);
  CHECK(second["campaign"] == report["campaign"]);
  CHECK(second["rows"][0]["improvement"] == row["improvement"]);

  // A run taken out of the middle is missed.
  fs::remove_all(out / "candidate" / "004");
  const Outcome hole =
      run_harness({"gate", "--allow-debug", "--baseline", (out / "baseline").string(),
                   "--candidate", (out / "candidate").string()});
  check_one_error(hole, 1, "pair 4: is incomplete");
}

TEST_CASE("a candidate that no longer learns has regressed", "[gate][cli][long]") {
  const TemporaryFolder folder;
  const std::string settings = "--set quality=0.9 --set custom-quality=0.1";
  const Outcome outcome = run_harness(
      gate(folder / "campaign", null_run(settings), null_run(settings + " --kernels custom")));
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 4);
  const json report = json::parse(outcome.out);
  const auto& rows = report["rows"];
  const auto quality = std::find_if(
      rows.begin(), rows.end(), [](const json& row) { return row["metric"] == "quality target"; });
  REQUIRE(quality != rows.end());
  CHECK((*quality)["verdict"] == "regressed");
}

TEST_CASE("other commands are judged by their wall time", "[gate][cli]") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_harness({"gate", "--ab-base", "sleep 0.02", "--ab-cand", "sleep 0.08", "--out",
                   (folder / "campaign").string(), "--format", "json"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 4);
  const json report = json::parse(outcome.out);
  REQUIRE(report["rows"].size() == 1);
  CHECK(report["rows"][0]["metric"] == "time.wall");
  CHECK(lines_of(folder / "campaign" / "times.jsonl").size() >= 48);
}

TEST_CASE("commands that fail end the gate with their last words", "[gate][cli]") {
  const TemporaryFolder folder;
  const auto failing = [&](const char* name, const std::string& baseline,
                           const std::string& candidate) {
    return run_harness({"gate", "--whole", "--allow-debug", "--ab-base", baseline, "--ab-cand",
                        candidate, "--out", (folder / name).string()});
  };
  check_one_error(failing("a", "true", "echo so it goes; exit 7"), 1,
                  "candidate: the command ended with exit code 7: so it goes");
  check_one_error(failing("b", "no-such-command-here", "true"), 1, "exit code 127");
  check_one_error(failing("c", null_run("--set fail-at=3"), null_run()), 1, "exit code 2");
  check_one_error(failing("e", null_run("--out x"), null_run()), 1, "has an --out of its own");
  // What was asked in vain is no campaign yet.
  check_one_error(failing("a", "true", "exit 8"), 1, "exit code 8");
  write_file_atomically(folder / "a" / "notes", "mine");
  check_one_error(failing("a", "true", "true"), 1, "the folder is not empty");
}

TEST_CASE("an anchor that nothing is held to is refused before it runs", "[gate][anchor][cli]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& side,
                           const std::string& why) {
    std::vector<std::string> words = {"gate",      "--out", "campaign", "--ab-base", side,
                                      "--ab-cand", side,    "--anchor", "touch ran"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_harness(words, {}, folder.path());
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, Catch::Contains("harness: --anchor: " + why));
    CHECK_FALSE(fs::exists(folder / "ran"));
  };
  refused({"--whole"}, "touch ran", "with --whole");
  refused({}, "true", "needs sides that step in turn");
}

TEST_CASE("a command that fails on its way is tried once more", "[gate][cli]") {
  // A command that counts its runs, and fails where the count is one of `counts`.
  const auto fails_at = [](const std::string& counts, const std::string& seconds) {
    return "echo >>$RUNS; case $(($(wc -l <$RUNS))) in " + counts +
           ") echo so it goes; exit 7;; esac; sleep " + seconds;
  };
  const auto outcome_of = [](const TemporaryFolder& folder, const std::string& baseline,
                             const std::string& candidate) {
    const std::string runs = "RUNS=" + (folder / "runs").string() + "; ";
    return run_harness({"gate", "--ab-base", runs + baseline, "--ab-cand", runs + candidate,
                        "--pairs", "14", "--format", "json", "--out", (folder / "out").string()});
  };
  // The first run is the one that asks what the command is.
  const TemporaryFolder once;
  const Outcome faster = outcome_of(once, "sleep 0.04", fails_at("4", "0.005"));
  CAPTURE(faster.out, faster.err);
  // On a busy machine 14 pairs may leave it open; the failure is no verdict in either case.
  CHECK((faster.code == 0 || faster.code == 5));
  CHECK_THAT(faster.out,
             Catch::Contains("pair 3 was tried again: candidate: the command ended with "
                             "exit code 7: so it goes"));
  CHECK(fs::exists(once / "out" / "stopped-1" / "candidate" / "003.txt"));
  CHECK(fs::exists(once / "out" / "candidate" / "003.txt"));

  const TemporaryFolder twice;
  const Outcome red = outcome_of(twice, "sleep 0.04", fails_at("4|6", "0.005"));
  CAPTURE(red.out, red.err);
  CHECK(red.code == 4);
  CHECK_THAT(red.out, Catch::Contains("the candidate failed twice"));

  const TemporaryFolder baseline;
  const Outcome error = outcome_of(baseline, fails_at("4|6", "0.005"), "sleep 0.04");
  CHECK(error.code == 1);
  CHECK_THAT(error.err, Catch::Contains("\nharness: baseline, pair 4: the command ended with exit "
                                        "code 7: so it goes"));
}

TEST_CASE("different work is not compared", "[gate][cli]") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_harness(gate(folder / "campaign", null_run(), null_run("--batch-size 2")));
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 5);
  const json report = json::parse(outcome.out);
  CHECK(report["verdict"] == "not comparable");
  CHECK(report["forbidding"][0]["name"] == "batch_size");
}

TEST_CASE("a run that --strict refuses is no measurement", "[gate][cli]") {
  const TemporaryFolder folder;
  // A machine can be made unfit to measure on by pinning to fewer CPUs than threads.
  const std::string unfit = null_run("--strict --cpus 0 --threads 2");
  const Outcome alone =
      run_harness({"run", "--workload", "null", "--set", "step-ms=3", "--strict", "--cpus", "0",
                   "--threads", "2", "--out", (folder / "alone").string()});
  if (alone.code != 3) return;  // this machine has but one CPU, or finds nothing wrong with it
  const Outcome outcome = run_harness(gate(folder / "campaign", unfit, unfit));
  check_one_error(outcome, 3, "which --strict refuses");
}

TEST_CASE("a budget that is spent is inconclusive", "[gate][cli]") {
  const TemporaryFolder folder;
  const std::vector<std::string> spent = {"--budget", "0.001"};
  const Outcome failed = run_harness(gate(folder / "a", null_run(), null_run(), spent));
  CAPTURE(failed.out, failed.err);
  CHECK(failed.code == 5);
  CHECK_THAT(failed.out, Catch::Contains("the budget of"));
  const Outcome passed = run_harness(gate(folder / "b", null_run(), null_run(),
                                          {"--budget", "0.001", "--on-inconclusive", "pass"}));
  CHECK(passed.code == 0);
}

TEST_CASE("a budget too small for any verdict ends the campaign at once", "[gate][cli]") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_harness({"gate", "--ab-base", "sleep 0.02", "--ab-cand", "sleep 0.08", "--out",
                   (folder / "campaign").string(), "--budget", "0.01"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 5);
  CHECK_THAT(outcome.out, Catch::Contains("budget"));
  CHECK(lines_of(folder / "campaign" / "times.jsonl").size() <= 4);
}

TEST_CASE("a metric that is not judged is refused after the first pair", "[gate][cli]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "gate.json";
  const fs::path cases = folder / "gate.xml";
  const Outcome outcome =
      run_harness(gate(folder / "a", null_run(), null_run(),
                       {"--metric", "time.stpe", "--also", "json=" + file.string(), "--also",
                        "junit=" + cases.string()}));
  CAPTURE(outcome.out, outcome.err);
  check_one_error(outcome, 1, "did you mean time.step");
  CHECK(fs::exists(folder / "a" / "baseline" / "001"));
  CHECK_FALSE(fs::exists(folder / "a" / "baseline" / "002"));
  // Who reads files is told, too.
  const json report = json::parse(read_file(file, 1 << 20));
  CHECK(report["verdict"] == "error");
  CHECK(report["exit_code"] == 1);
  CHECK_THAT(read_file(cases, 1 << 20), Catch::Contains("errors=\"1\""));
}

TEST_CASE("a report goes through links and into pipes, and one that fails costs no other",
          "[gate][cli]") {
  const TemporaryFolder folder;
  std::ofstream(folder / "target.json") << "old";
  fs::create_symlink("target.json", folder / "link.json");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const int reader = open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  fs::create_directories(folder / "a.folder");
  const Outcome outcome =
      run_harness(gate(folder / "a", null_run(), null_run(),
                       {"--budget", "0.001", "--also", "junit=" + (folder / "a.folder").string(),
                        "--also", "json=" + (folder / "link.json").string(), "--also",
                        "markdown=" + (folder / "pipe").string()}));
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 1);
  CHECK(fs::is_symlink(folder / "link.json"));
  CHECK(json::parse(read_file(folder / "target.json", 1 << 20))["kind"] == "gate");
  CHECK(fs::is_fifo(folder / "pipe"));
  std::array<char, 9> head{};
  CHECK(read(reader, head.data(), 8) == 8);
  CHECK(std::string(head.data()) == "### Gate");
  close(reader);
  check_one_error(run_harness({"gate", "--ab-base", "true", "--ab-cand", "true", "--also",
                               "json=" + (folder / "nowhere" / "x.json").string()}),
                  1, "there is no such folder");
}

TEST_CASE("a campaign that is interrupted keeps its files", "[gate][cli]") {
  const TemporaryFolder folder;
  const fs::path out = folder / "campaign";
  Process process(gate(out, null_run(), null_run()));
  wait_until([&] { return fs::exists(out / "baseline" / "003"); });
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err, Catch::Contains("what was measured is in"));
  CHECK(files_ending(out / "baseline" / "001", ".json").size() == 1);
  // What the message advises works: whole pairs are judged, too few for a verdict.
  const Outcome again =
      run_harness({"gate", "--allow-debug", "--baseline", (out / "baseline").string(),
                   "--candidate", (out / "candidate").string()});
  CAPTURE(again.out, again.err);
  CHECK(again.code == 5);
}

TEST_CASE("mistakes at the gate are one line each", "[gate][cli]") {
  const TemporaryFolder folder;
  check_one_error(run_harness({"gate"}), 1, "--baseline: missing");
  check_one_error(run_harness({"gate", "--baseline", "x"}), 1, "--candidate: missing");
  check_one_error(run_harness({"gate", "--ab-base", "true"}), 1, "--ab-cand: missing");
  check_one_error(run_harness({"gate", "--baseline", "x", "--ab-base", "y"}), 1,
                  "files and commands at once");
  check_one_error(run_harness({"gate", "--baseline", "x", "--candidate", "y"}), 1, "x: ");
  check_one_error(run_harness({"gate", "--baseline", "x", "--candidate", "y", "--pause", "3"}), 1,
                  "--pause: is for --ab-base");
  check_one_error(run_harness({"gate", "--ab-base", "a", "--ab-cand", "b", "--pairs", "3"}), 1,
                  "--pairs 3: too small: at least 14");
  check_one_error(run_harness({"gate", "--ab-base", "a", "--ab-cand", "b", "--budget", "-1"}), 1,
                  "--budget -1: too small: at least 0");
  check_one_error(run_harness({"gate", "--baseline", "x", "--candidate", "y", "--format", "html"}),
                  1, "one of text, json, markdown, junit");
  check_one_error(
      run_harness({"gate", "--baseline", "x", "--candidate", "y", "--on-inconclusive", "maybe"}), 1,
      "one of fail, pass");
  check_one_error(run_harness({"gate", "--baseline", "x", "--candidate", "y", "--also", "html=x"}),
                  1, "is not FORMAT=FILE");
  check_one_error(run_harness({"gate", "--baseline", folder.path().string(), "--candidate",
                               folder.path().string()}),
                  1, "holds no result");
}

TEST_CASE("files that are not sound never pass the gate", "[gate][cli]") {
  const TemporaryFolder folder;
  const fs::path out = folder / "runs";
  REQUIRE(run_harness({"run", "--workload", "null", "--set", "step-ms=0", "--out", out.string()})
              .code == 0);
  const fs::path good = files_ending(out, ".json").front();
  const std::string content = read_file(good, 1 << 24);
  const fs::path bad = folder / "bad.json";
  const auto gated = [&](const std::string& text) {
    std::ofstream(bad) << text;
    return run_harness(
        {"gate", "--allow-debug", "--baseline", good.string(), "--candidate", bad.string()});
  };
  CHECK(gated(content).code == 5);  // the same run
  check_one_error(gated(""), 1, "bad.json");
  check_one_error(gated(content.substr(0, content.size() / 2)), 1, "bad.json");
  check_one_error(gated("{}"), 1, "bad.json");
  std::string edited = content;
  edited.replace(edited.find("\"null\""), 6, "\"nulL\"");
  check_one_error(gated(edited), 1, "digest");
  const std::string place = "HARNESS_CAMPAIGN=../../x,baseline,1";
  check_one_error(
      run_harness({"run", "--workload", "null", "--out", (folder / "y").string()}, {place}), 1,
      "HARNESS_CAMPAIGN");
}
