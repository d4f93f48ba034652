// End to end: `harness gate` over two sides in lockstep.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/gate_outcome.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace fs = std::filesystem;
using nlohmann::json;

TEST_CASE("a side that did not change is green", "[gate][lockstep][cli]") {
  const TemporaryFolder folder;
  const Outcome outcome = gate(folder, told("0.0001"), told("0.0001"),
                               {"--lockstep", "--pairs", "32", "--metric", "time.step"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  const json report = json::parse(outcome.out);
  CHECK(row_of(report, "time.step").at("verdict") == "same");
  CHECK(fs::exists(folder / "out" / "campaign.jsonl"));
  // The verdict stays with it, and is what a report begins with; each cluster was told without one.
  const json kept = json::parse(read_file(folder / "out" / "verdict.jsonl", 1 << 20));
  CHECK(kept.at("verdict") == "same");
  CHECK(kept.at("campaign") == report.at("campaign"));
  const Outcome shown = run_harness({"report", (folder / "out").string(), "--json"});
  CHECK(shown.code == 0);
  CHECK(json::parse(shown.out).at("campaigns").at(0).at("verdict") == "same");
  CHECK_THAT(outcome.err, Catch::Contains("so far, no verdict; look 1 of 4"));
  const std::string page = (folder / "out" / "verdict.jsonl").string();
  check_one_error(run_harness({"report", (folder / "out").string(), "-o", page}), 1,
                  "verdict.jsonl");
}

TEST_CASE("runs of the harness step in lockstep by themselves", "[gate][lockstep][cli][long]") {
  const TemporaryFolder folder;
  const Outcome outcome =
      gate(folder, null_side("--set custom-speedup=0.5"),
           null_side("--set custom-speedup=0.5 --kernels custom"),
           {"--pairs", "24", "--allow-debug", "--anchor", null_side("--batch-size 2")});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 4);
  const json report = json::parse(outcome.out);
  // An anchor that does other work is a note.
  CHECK(row_of(report, "anchor.time.step").is_null());
  CHECK_THAT(report.at("notes").dump(), Catch::Contains("creep is not looked for"));
  CHECK(row_of(report, "time.step").at("improvement").at("high") < 0.7);
  // The same losses, step by step, and a quality that was looked at once.
  CHECK(row_of(report, "losses").at("verdict") == "same");
  CHECK(row_of(report, "quality target").at("n") == 1);
  CHECK(fs::exists(folder / "out" / "baseline" / "001"));
  CHECK(run_harness({"validate", (folder / "out" / "candidate").string()}).code == 0);
}

TEST_CASE("a candidate whose quality is bad is red, however fast", "[gate][lockstep][cli][long]") {
  const TemporaryFolder folder;
  const std::string custom = "--set custom-speedup=2 --set custom-quality=-1000";
  const Outcome outcome = gate(folder, null_side(custom), null_side(custom + " --kernels custom"),
                               {"--pairs", "14", "--allow-debug"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 4);
  CHECK(row_of(json::parse(outcome.out), "quality target").at("verdict") == "regressed");
}

TEST_CASE("a candidate that fails twice is red, a baseline that does is an error",
          "[gate][lockstep][cli]") {
  const std::string good = told("0.0001");
  for (const std::string& bad :
       {side_that_tells("exit 3"),
        side_that_tells(R"(echo '{"seconds":[0.001],"losses":{"total":[null]}}')"),
        side_that_tells(R"(echo '{"seconds":[0.001]}'; exec sh -c 'read l; exit 7')")}) {
    INFO(bad);
    const TemporaryFolder red;
    const Outcome outcome = gate(red, good, bad, {"--lockstep", "--metric", "time.step"});
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == 4);
    const TemporaryFolder error;
    CHECK(gate(error, bad, good, {"--lockstep"}).code == 1);
  }
}

TEST_CASE("a side that never begins is a mistake in its command", "[gate][lockstep][cli]") {
  for (const char* bad : {"no-such-command-here", "exit 3", "echo good morning"}) {
    INFO(bad);
    const TemporaryFolder folder;
    CHECK(gate(folder, told("0.0001"), bad, {"--lockstep"}).code == 1);
  }
}

TEST_CASE("a side whose clock lies makes the campaign invalid", "[gate][lockstep][cli][long]") {
  const TemporaryFolder folder;
  const Outcome outcome =
      gate(folder, told("0.0001"), side_that_tells("sleep 0.05; " + answer_told("0.001")),
           {"--lockstep"});
  CAPTURE(outcome.err);
  CHECK(outcome.code == 3);
}

TEST_CASE("creep that no single night shows is held to the anchor", "[gate][lockstep][cli][long]") {
  // A little slower than last night, and a little more than that slower than the release.
  const TemporaryFolder folder;
  const Outcome crept = gate(folder, told("0.0001"), told("0.000101"),
                             {"--lockstep", "--pairs", "24", "--anchor", told("0.000095")});
  CAPTURE(crept.out, crept.err);
  CHECK(crept.code == 4);
  const json report = json::parse(crept.out);
  CHECK(row_of(report, "time.step").at("verdict") != "regressed");
  CHECK(row_of(report, "anchor.time.step").at("verdict") == "regressed");
}

TEST_CASE("what cannot step when told is measured as whole runs", "[gate][lockstep][cli][long]") {
  const TemporaryFolder folder;
  // As a build from before lockstep answers.
  write_file_atomically(
      folder / "harness",
      "#!/bin/sh\ncase $HARNESS_ARGUMENTS in *--lockstep*) echo 'harness: --lockstep: unknown "
      "option' >&2; exit 1;; esac\nexec " +
          harness_program() + " \"$@\"\n");
  fs::permissions(folder / "harness", fs::perms::owner_all);
  const std::string old = (folder / "harness").string() + " run --workload null --set step-ms=1";
  const Outcome outcome =
      gate(folder, old, old, {"--pairs", "14", "--on-inconclusive", "pass", "--allow-debug"});
  CAPTURE(outcome.out, outcome.err);
  CHECK((outcome.code == 0 || outcome.code == 4));
  CHECK_THAT(outcome.err, Catch::Contains("not in lockstep"));
  CHECK(fs::exists(folder / "out" / "baseline" / "014"));
}

TEST_CASE("rules that changed between the sides cost no night", "[gate][lockstep][cli][long]") {
  // As another commit has them.
  const TemporaryFolder other;
  for (const char* part : {"rules", "results"}) {
    fs::copy(home_folder() / part, other / part, fs::copy_options::recursive);
  }
  json rules = json::parse(read_file(home_folder() / "rules" / "null.json", 1 << 20));
  rules["summary"] = "the same in other words";
  write_file_atomically(other / "rules" / "null.json", rules.dump());
  const std::string older = "HARNESS_HOME=" + other.path().string() + " " + null_side("");
  const TemporaryFolder folder;
  const Outcome outcome = gate(
      folder, older, null_side(""),
      {"--pairs", "14", "--allow-debug", "--metric", "time.step", "--on-inconclusive", "pass"});
  CAPTURE(outcome.out, outcome.err);
  const json report = json::parse(outcome.out);
  CHECK(report.at("forbidding").empty());
  CHECK(row_of(report, "losses").at("verdict") == "same");
  // A side that cannot run under the gate's rules: nothing is compared, unless that is accepted.
  write_file_atomically(
      other / "harness",
      "#!/bin/sh\ncase $HARNESS_ARGUMENTS in *--rules*) exit 1;; esac\nHARNESS_HOME=" +
          other.path().string() + " exec " + harness_program() + " \"$@\"\n");
  fs::permissions(other / "harness", fs::perms::owner_all);
  const std::string cannot = (other / "harness").string() + " run --workload null --set step-ms=2";
  for (const bool accepted : {false, true}) {
    const TemporaryFolder out;
    std::vector<std::string> more = {"--allow-debug"};
    if (accepted) more.emplace_back("--accept-rules");
    const Outcome refused = gate(out, cannot, null_side(""), more);
    CAPTURE(refused.out, refused.err);
    CHECK(refused.code == (accepted ? 0 : 5));
    CHECK(json::parse(refused.out).at("verdict") == (accepted ? "new baseline" : "not comparable"));
  }
}

TEST_CASE("a budget too small for a verdict is refused with what it takes",
          "[gate][lockstep][cli]") {
  const TemporaryFolder folder;
  const Outcome outcome =
      gate(folder, null_side(""), null_side(""), {"--budget", "0.0001", "--allow-debug"});
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.err, Catch::Contains("harness: --budget 0.0001: a cluster takes"));
  // Of the usual budget it is said that nobody gave it; twice of this one would not do either.
  const TemporaryFolder home;
  for (const char* part : {"rules", "results"}) {
    fs::copy(home_folder() / part, home / part, fs::copy_options::recursive);
  }
  json rules = json::parse(read_file(home / "rules" / "gate.json", 1 << 20));
  rules["lockstep"]["budget_minutes"] = 0.0001;
  write_file_atomically(home / "rules" / "gate.json", rules.dump());
  const TemporaryFolder usual;
  const Outcome refused = gate(usual, told("0.0001"), told("0.0001"), {"--lockstep"},
                               {"HARNESS_HOME=" + home.path().string()});
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Catch::Contains("harness: the usual budget of 0 s: a cluster takes"));
}
