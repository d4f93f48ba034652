// End to end: sides of `harness gate` that are not what they should be: an anchor of no use, two
// kinds of commands, checks of the quality that are nobody's but the side's own.
#include <catch2/catch.hpp>
#include <filesystem>
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

std::string base() { return null_side("--set custom-speedup=0.5"); }

/// Twice as slow, so that few clusters tell.
std::string slow() { return base() + " --kernels custom"; }

/// Another checkout, whose rules for `null` have other words.
void copy_home(const fs::path& to) {
  for (const char* part : {"rules", "results"}) {
    fs::copy(home_folder() / part, to / part, fs::copy_options::recursive);
  }
  json rules = json::parse(read_file(home_folder() / "rules" / "null.json", 1 << 20));
  rules["summary"] = "the same in other words";
  write_file_atomically(to / "rules" / "null.json", rules.dump());
}

std::string script(const TemporaryFolder& folder, const std::string& text) {
  write_file_atomically(folder / "harness", "#!/bin/sh\n" + text);
  fs::permissions(folder / "harness", fs::perms::owner_all);
  return (folder / "harness").string() + " run --workload null --set step-ms=2";
}

}  // namespace

TEST_CASE("an anchor that does not run costs no verdict", "[gate][lockstep][anchor][cli]") {
  struct Case {
    std::string anchor;
    const char* why;
  };
  for (const Case& one :
       {Case{"exit 3", "does not begin"}, Case{side_that_tells("exit 1"), "failed twice"},
        Case{side_that_tells(R"(echo '{"seconds":[0.001],"losses":{"total":[null]}}')"),
             "not finite"}}) {
    CAPTURE(one.anchor);
    const TemporaryFolder folder;
    const Outcome outcome = gate(folder, told("0.00005"), told("0.0001"),
                                 {"--lockstep", "--pairs", "24", "--anchor", one.anchor});
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == 4);
    const json report = json::parse(outcome.out);
    CHECK(row_of(report, "time.step").at("verdict") == "regressed");
    CHECK(row_of(report, "anchor.time.step").is_null());
    CHECK_THAT(report.at("notes").dump(),
               Catch::Contains("the anchor is left out") && Catch::Contains(one.why));
    // A campaign that goes on does so without it, and still says why.
    fs::remove(folder / "out" / "verdict.jsonl");
    const Outcome again =
        run_harness({"gate", "--resume", (folder / "out").string(), "--format", "json"});
    CAPTURE(again.out, again.err);
    CHECK(again.code == 4);
    CHECK_THAT(again.out, Catch::Contains("the anchor is left out"));
  }
}

TEST_CASE("an anchor whose results are of no use costs no verdict",
          "[gate][lockstep][anchor][cli][long]") {
  const TemporaryFolder none;
  const TemporaryFolder cannot;
  for (const std::string& anchor :
       {base() + " --set quality=-1000", script(none, "exit 1\n"),
        script(cannot,
               "case $HARNESS_ARGUMENTS in *--lockstep*) echo '--lockstep?' >&2; exit 1;; "
               "esac; exec " +
                   harness_program() + " \"$@\"\n")}) {
    CAPTURE(anchor);
    const TemporaryFolder folder;
    const Outcome outcome =
        gate(folder, base(), slow(), {"--allow-debug", "--pairs", "24", "--anchor", anchor});
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == 4);
    const json report = json::parse(outcome.out);
    CHECK(row_of(report, "time.step").at("verdict") == "regressed");
    CHECK(row_of(report, "losses").at("verdict") == "same");
    CHECK(row_of(report, "anchor.time.step").is_null());
    CHECK_THAT(report.at("notes").dump(), Catch::Contains("the anchor is left out"));
  }
}

TEST_CASE("an anchor with other rules runs under ours", "[gate][lockstep][anchor][cli][long]") {
  const TemporaryFolder other;
  copy_home(other.path());
  const std::string elsewhere = "HARNESS_HOME=" + other.path().string() + " ";
  const TemporaryFolder folder;
  const Outcome outcome = gate(folder, base(), slow(),
                               {"--allow-debug", "--pairs", "24", "--anchor", elsewhere + base()});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 4);
  const json report = json::parse(outcome.out);
  CHECK_FALSE(row_of(report, "anchor.time.step").is_null());
  CHECK_THAT(report.at("notes").dump(), Catch::Contains("the anchor's rules differ"));
}

TEST_CASE("a harness run beside another side: times, and its own quality",
          "[gate][lockstep][cli][long]") {
  const TemporaryFolder folder;
  const Outcome red = gate(folder, told("0.00005"), null_side(""),
                           {"--lockstep", "--allow-debug", "--pairs", "14"});
  CAPTURE(red.out, red.err);
  CHECK(red.code == 4);
  const json report = json::parse(red.out);
  CHECK(row_of(report, "time.step").at("verdict") == "regressed");
  CHECK(row_of(report, "quality target").at("verdict") == "same");
  CHECK_THAT(report.at("notes").dump(), Catch::Contains("nothing but times is compared"));
  // However fast it is, a wrong model has regressed; as the baseline it is an error.
  const std::string wrong = null_side("--set quality=-1000");
  const TemporaryFolder fast;
  const std::string slower = side_that_tells("sleep 0.01; " + answer_told("0.012"));
  const Outcome missed =
      gate(fast, slower, wrong, {"--lockstep", "--allow-debug", "--pairs", "14"});
  CAPTURE(missed.out, missed.err);
  CHECK(missed.code == 4);
  CHECK(row_of(json::parse(missed.out), "quality target").at("verdict") == "regressed");
  const TemporaryFolder error;
  check_one_error(
      gate(error, wrong, told("0.0001"), {"--lockstep", "--allow-debug", "--pairs", "14"}), 1,
      "missed its quality target");
  // Without the option nobody knows that the other one could step in turn.
  const TemporaryFolder mixed;
  const Outcome two_kinds = gate(mixed, null_side(""), told("0.0001"), {"--allow-debug"});
  CHECK(two_kinds.code == 5);
  CHECK_THAT(two_kinds.out, Catch::Contains("--lockstep, if it speaks that protocol"));
}

TEST_CASE("a side with other checks than the gate asks for is not comparable",
          "[gate][oracle][cli]") {
  // The gate's own rules ask for a check that neither side makes.
  const TemporaryFolder home;
  for (const char* part : {"rules", "results"}) {
    fs::copy(home_folder() / part, home / part, fs::copy_options::recursive);
  }
  json checks = json::parse(read_file(home_folder() / "rules" / "checks.json", 1 << 20));
  checks["qualities"].push_back({{"metric", "scripted-quality"},
                                 {"workloads", {"null"}},
                                 {"rounding", {{"relative", 5e-9}}},
                                 {"quantities",
                                  {{{"name", "loss"},
                                    {"count", 1},
                                    {"error", "relative"},
                                    {"tolerance", {{"fp32", 1e-5}}}}}}});
  write_file_atomically(home / "rules" / "checks.json", checks.dump());
  for (const bool accepted : {false, true}) {
    const TemporaryFolder folder;
    std::vector<std::string> more = {"--allow-debug"};
    if (accepted) more.emplace_back("--accept-rules");
    const Outcome outcome =
        gate(folder, base(), base(), more, {"HARNESS_HOME=" + home.path().string()});
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == (accepted ? 0 : 5));
    const json report = json::parse(outcome.out);
    CHECK(report.at("verdict") == (accepted ? "new baseline" : "not comparable"));
    CHECK(report.at("forbidding").at(0).at("name") == "checks of the quality");
  }
}
