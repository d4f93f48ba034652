// End to end: `harness gate` asks its commands what they are, once.
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/gate_outcome.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const std::vector<std::string> kFew = {"--pairs", "14", "--allow-debug", "--on-inconclusive",
                                       "pass"};

std::string script(const TemporaryFolder& folder, const std::string& text) {
  write_file_atomically(folder / "script", "#!/bin/sh\n" + text + "\n");
  fs::permissions(folder / "script", fs::perms::owner_all);
  return (folder / "script").string();
}

/// A build that knows nothing of being asked, and counts its runs.
std::string older(const TemporaryFolder& folder) {
  return script(folder,
                "unset HARNESS_TELL HARNESS_ARGUMENTS\n"
                "[ \"$HARNESS_CAMPAIGN\" = asked ] && HARNESS_CAMPAIGN=of-no-campaign\n"
                "exec " +
                    null_side("\"$@\""));
}

std::size_t lines_in(const fs::path& file) {
  const std::string text = fs::exists(file) ? read_file(file, 1 << 20) : "";
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("another command runs once more than it is timed", "[gate][asked][cli]") {
  const TemporaryFolder folder;
  const std::string runs = (folder / "runs").string();
  const Outcome outcome = gate(folder, "sleep 0.03", "echo >>" + runs + "; sleep 0.001", kFew);
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  const std::size_t pairs = lines_in(folder / "out" / "times.jsonl") / 2;
  CHECK(pairs >= 10);
  CHECK(lines_in(runs) == pairs + 1);
  CHECK_THAT(outcome.err, Catch::Contains("each command ran once, untimed"));
  CHECK(fs::exists(folder / "out/asked/candidate.txt"));
}

TEST_CASE("a run within a script, a shell or a pipe is judged by its results",
          "[gate][asked][cli][long]") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  const std::string within = script(folder, "cd / && exec " + null_side("\"$@\""));
  SECTION("in lockstep, where its output comes straight") {
    const Outcome outcome = gate(other, within, "sh -c '" + null_side("") + "'", kFew);
    CAPTURE(outcome.out, outcome.err);
    const json report = json::parse(outcome.out);
    CHECK(row_of(report, "losses").at("verdict") == "same");
    CHECK_FALSE(fs::exists(other / "out/times.jsonl"));
    CHECK(report.at("baseline") == within);
  }
  SECTION("whole, where somebody reads it before us") {
    const std::string log = (folder / "log").string();
    for (const std::string& elsewhere :
         {" | tee " + log, " >" + log, std::string(" 2>&1 | cat"), " >" + log + " 2>&1"}) {
      CAPTURE(elsewhere);
      const TemporaryFolder piped;
      const Outcome outcome = gate(piped, within, null_side("") + elsewhere, kFew);
      CAPTURE(outcome.out, outcome.err);
      CHECK_THAT(outcome.err, Catch::Contains("not in lockstep"));
      CHECK(row_of(json::parse(outcome.out), "quality target").at("verdict") == "same");
      CHECK(fs::exists(piped / "out/candidate/001"));
    }
    CHECK_THAT(read_file(log, 1 << 20), Catch::Contains("status"));
  }
  SECTION("not where it is said that it speaks") {
    const Outcome outcome =
        gate(other, within, null_side("") + " | cat", {"--lockstep", "--allow-debug"});
    check_one_error(outcome, 1, "standard output does not go to who gives the orders");
  }
}

TEST_CASE("the arguments that a run tells are looked at, not its text",
          "[gate][asked][cli][long]") {
  const TemporaryFolder own;
  const std::string with_out = script(own, "exec " + null_side("--out x"));
  const TemporaryFolder refused;
  check_one_error(gate(refused, with_out, null_side(""), kFew), 1, "has an --out of its own");
  // Text that only looks like an option.
  const TemporaryFolder folder;
  const Outcome outcome = gate(folder, "true --out --tier; " + null_side(""), null_side(""), kFew);
  CAPTURE(outcome.out, outcome.err);
  CHECK(row_of(json::parse(outcome.out), "losses").at("verdict") == "same");
  const fs::path file = files_ending(folder / "out/candidate/001", ".json").front();
  const json line = json::parse(read_file(file, 1 << 24)).at("identity").at("command_line");
  CHECK(line == json({"harness", "run", "--workload", "null", "--set", "step-ms=2", "--lockstep",
                      "--out", (folder / "out/candidate/001").string()}));
}

TEST_CASE("a command that tells twice, or fails behind it, is refused before anything runs",
          "[gate][asked][cli]") {
  const std::string run = null_side("");
  const TemporaryFolder two;
  check_one_error(gate(two, run, run + "; " + run, kFew), 1, "starts 2 commands of ours");
  const TemporaryFolder failing;
  check_one_error(gate(failing, run + " && false", run, kFew), 1,
                  "starts a harness run, and fails");
  CHECK_FALSE(fs::exists(failing / "out/plan.jsonl"));
}

TEST_CASE("a side that cannot be asked leaves the sides not comparable, with a way out",
          "[gate][asked][cli]") {
  const TemporaryFolder folder;
  const std::string old = older(folder);
  for (const bool accepted : {false, true}) {
    CAPTURE(accepted);
    const TemporaryFolder out;
    std::vector<std::string> more = {"--allow-debug"};
    if (accepted) more.emplace_back("--accept-rules");
    const Outcome outcome = gate(out, old, null_side(""), more);
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == (accepted ? 0 : 5));
    const json report = json::parse(outcome.out);
    CHECK(report.at("verdict") == (accepted ? "new baseline" : "not comparable"));
    CHECK(report.at("forbidding").at(0).at("name") == "how old the baseline is");
    CHECK(report.at("forbidding").at(0).at("candidate") == "harness run");
    CHECK_THAT(report.at("notes").dump(), Catch::Contains("--accept-rules"));
    // As a night has it shown.
    CHECK(
        run_harness({"report", (out / "out").string(), "-o", (out / "page.html").string()}).code ==
        0);
  }
  // Another command is a mistake, and no old build.
  const TemporaryFolder mistaken;
  const Outcome kept = gate(mistaken, "true", null_side(""), {"--accept-rules"});
  CHECK(kept.code == 5);
  CHECK(json::parse(kept.out).at("forbidding").at(0).at("name") == "what the baseline is");
  CHECK_THAT(kept.out, !Catch::Contains("new baseline"));
  // A candidate that cannot be asked is not judged, and no baseline either.
  const TemporaryFolder silent;
  const Outcome refused = gate(silent, null_side(""), "true", {"--accept-rules"});
  CHECK(refused.code == 5);
  CHECK(json::parse(refused.out).at("forbidding").at(0).at("name") == "what the candidate is");
  CHECK_THAT(refused.out, !Catch::Contains("a new baseline"));
  const TemporaryFolder both;
  check_one_error(gate(both, old, old, kFew), 1, "from before commands were asked");
  const TemporaryFolder lockstep;
  CHECK(gate(lockstep, null_side(""), old, {"--lockstep", "--allow-debug"}).code == 5);
}

TEST_CASE("an anchor that cannot be asked costs no verdict", "[gate][asked][anchor][cli][long]") {
  const TemporaryFolder folder;
  const TemporaryFolder old;
  std::vector<std::string> more = kFew;
  more.insert(more.end(), {"--anchor", older(old)});
  const Outcome outcome = gate(folder, null_side(""), null_side(""), more);
  CAPTURE(outcome.out, outcome.err);
  const json report = json::parse(outcome.out);
  CHECK(row_of(report, "losses").at("verdict") == "same");
  CHECK_THAT(report.at("notes").dump(), Catch::Contains("it tells of no harness run"));
}

TEST_CASE("a campaign that goes on asks nobody again", "[gate][asked][resume][cli]") {
  const TemporaryFolder folder;
  const std::string asked = (folder / "asked").string();
  const std::string run = script(
      folder, "[ -z \"$HARNESS_TELL\" ] || echo >>" + asked + "\nexec " + null_side("\"$@\""));
  const fs::path out = folder / "out";
  Process process({"gate", "--whole", "--allow-debug", "--pairs", "14", "--ab-base", run,
                   "--ab-cand", run, "--out", out.string()});
  wait_until([&] { return fs::exists(out / "candidate/003"); });
  process.signal(SIGINT);
  CHECK(process.wait().code == 2);
  CHECK(lines_in(asked) == 2);
  const auto resume = [&] {
    return run_harness({"gate", "--resume", out.string(), "--allow-debug", "--on-inconclusive",
                        "pass", "--format", "json"});
  };
  const Outcome outcome = resume();
  CAPTURE(outcome.out, outcome.err);
  CHECK((outcome.code == 0 || outcome.code == 4));
  CHECK(lines_in(asked) == 2);
  CHECK(fs::exists(out / "candidate/005"));
  // As an earlier version left it: not to be gone on with, but its files are judged.
  json plan = lines_of(out / "plan.jsonl").front();
  for (const char* side : {"baseline", "candidate"}) plan[side] = plan.at(side).at("command");
  std::ofstream(out / "plan.jsonl") << plan.dump() << "\n";
  check_one_error(resume(), 1, "was begun by an earlier version");
  const Outcome judged =
      run_harness({"gate", "--allow-debug", "--on-inconclusive", "pass", "--baseline",
                   (out / "baseline").string(), "--candidate", (out / "candidate").string()});
  CHECK(judged.code == outcome.code);
}

TEST_CASE("too few pairs for nights that pool are refused before anything is measured",
          "[gate][asked][cli]") {
  const TemporaryFolder folder;
  // Refused alike twice: the folder that the first one left is taken again.
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome =
        gate(folder, null_side(""), null_side(""), {"--pool", "--pairs", "14", "--allow-debug"});
    check_one_error(outcome, 1, "--pairs 14: no fewer than 16 can tell (--pairs 16 would do)");
    CHECK_FALSE(fs::exists(folder / "out" / "plan.jsonl"));
  }
}
