// End to end: `harness gate` over whole suites, of files and of commands that it runs in turn.
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/gate_outcome.hpp"
#include "tests/support/suite_home.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A home whose suite is `null` and the stub that answers queries, each in steps.
class StepsHome : public SuiteHome {
 public:
  StepsHome() {
    json rules = read_json_file(rules_file());
    rules["tasks"] = {{{"workload", "null"}, {"set", {{"step-ms", "2"}}}},
                      {{"workload", "stub-queries"}, {"set", {{"query-us", "300"}}}}};
    rules["tiers"]["quick"]["scenarios"] = {"steps"};
    write_rules(rules);
  }
  std::string suite_command(const std::string& more = "") const {
    return "'" + program() + "' suite" + more;  // as .ci/nightly has it
  }
  /// That of a build in which one task is slower, as no setting tells.
  std::string slow_suite() const { return "STUB_QUERIES_TIMES=3 " + suite_command(); }
  Outcome gate(std::vector<std::string> more) const {
    more.insert(more.begin(), {"gate", "--format", "json", "--allow-debug"});
    return run(more);
  }
  Outcome gate_files(const fs::path& baseline, const fs::path& candidate) const {
    return gate({"--baseline", baseline.string(), "--candidate", candidate.string()});
  }
  Outcome gate_commands(const std::string& baseline, const std::string& candidate,
                        const fs::path& out, std::vector<std::string> more = {}) const {
    more.insert(more.begin(),
                {"--ab-base", baseline, "--ab-cand", candidate, "--out", out.string()});
    return gate(more);
  }
};

const std::string kSlowRow = "stub-queries/steps time.step";

}  // namespace

TEST_CASE("files of several suites a side are judged task by task", "[gate][suite][cli][long]") {
  const StepsHome home;
  const TemporaryFolder folder;
  for (const char* side : {"before", "now"}) {
    for (const char* suite : {"1", "2"}) {
      REQUIRE(home.suite(folder / side / suite).code == 0);
    }
  }
  const Outcome few = home.gate_files(folder / "before", folder / "now");
  CAPTURE(few.out, few.err);
  CHECK(few.code == 5);
  const json report = json::parse(few.out);
  CHECK_THAT(row_of(report, "null/steps time.step").at("note").get<std::string>(),
             Catch::Contains("needs runs from 6 hours; the baseline has 2 runs of 2 series in 1"));
  CHECK_FALSE(row_of(report, "stub-queries/steps time.step").is_null());
  CHECK(row_of(report, "stub-queries/steps quality target").at("n") == 2);
  CHECK_THAT(row_of(report, "null/steps time.step").at("repeat").get<std::string>(),
             Catch::Contains("--metric 'null/steps time.step'"));
  const Outcome text =
      home.run({"gate", "--allow-debug", "--baseline", (folder / "before").string(), "--candidate",
                (folder / "now").string()});
  CHECK(text.code == 5);

  // A task that one side lacks.
  REQUIRE(home.suite(folder / "less", {"--tasks", "null"}).code == 0);
  const Outcome missing = home.gate_files(folder / "before", folder / "less");
  CAPTURE(missing.out, missing.err);
  CHECK(missing.code == 5);
  const json forbidding = json::parse(missing.out).at("forbidding");
  REQUIRE(forbidding.size() == 1);
  CHECK(forbidding[0].at("name") == "stub-queries/steps");
  CHECK(forbidding[0].at("candidate") == "missing");

  SECTION("a suite without one of its runs is refused") {
    const fs::path suite = folder / "now" / "2";
    const json document = read_suite(suite);
    fs::remove(suite / document["tasks"][0]["run"]["file"].get<std::string>());
    check_one_error(home.gate_files(folder / "before", folder / "now"), 1,
                    "its run of null/steps is not there");
  }
  SECTION("a suite that was stopped is refused") {
    const fs::path suite = folder / "now" / "2";
    fs::remove(suite_file(suite));
    std::ofstream(suite / "suite.state") << "{}";
    check_one_error(home.gate_files(folder / "before", folder / "now"), 1,
                    "the suite there was stopped before its end");
  }
}

TEST_CASE("LoadGen's figures of a suite are judged, one value a run", "[gate][suite][cli]") {
  if (without_loadgen()) return;
  const StepsHome home;
  home.write_queries("200");
  const TemporaryFolder folder;
  for (const char* side : {"before", "now"}) {
    // On a busy machine a test of LoadGen's may end too early, which makes its run invalid.
    Outcome suite;
    for (int i = 0; i < 3; ++i) {
      fs::remove_all(folder / side);
      suite = home.suite(folder / side, {"--scenarios", "single-stream,offline"});
      if (suite.code != 3) break;
    }
    INFO(suite.err);
    REQUIRE(suite.code == 0);
  }
  const Outcome outcome = home.gate_files(folder / "before", folder / "now");
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 5);
  const json report = json::parse(outcome.out);
  for (const std::string task : {"single-stream", "offline"}) {
    const fs::path file =
        folder / "before" /
        read_suite(folder / "before")["tasks"][task == "offline" ? 1 : 0]["run"]["file"]
            .get<std::string>();
    const json figure = read_json_file(file).at("loadgen").at("figure");
    const json row =
        row_of(report, "stub-queries/" + task + " " + figure.at("tag").get<std::string>());
    REQUIRE_FALSE(row.is_null());
    CHECK(row.at("baseline") == figure.at("value"));
    CHECK(row.at("direction") == (task == "offline" ? "higher" : "lower"));
    CHECK_FALSE(row_of(report, "stub-queries/" + task + " quality.value").is_null());
  }
}

TEST_CASE("suites in turn go on where they were stopped", "[gate][suite][resume][cli]") {
  const StepsHome home;
  const TemporaryFolder folder;
  const fs::path out = folder / "out";
  Process process({"gate", "--ab-base", home.suite_command(), "--ab-cand", home.slow_suite(),
                   "--out", out.string(), "--whole", "--allow-debug"},
                  home.environment(), {}, SuiteHome::program());
  wait_until([&] { return fs::exists(out / "candidate/002.txt"); });
  process.signal(SIGINT);
  const Outcome stopped = process.wait();
  CAPTURE(stopped.out, stopped.err);
  CHECK(stopped.code == 2);
  CHECK_THAT(stopped.err, Catch::Contains("go on: " + SuiteHome::program() + " gate --resume"));
  const Outcome outcome =
      home.gate({"--resume", out.string(), "--budget", "0.01", "--metric", "time.step"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 5);
  // Half a suite counts for nothing.
  CHECK(fs::exists(out / "stopped-1"));
  const json report = json::parse(outcome.out);
  CHECK_THAT(report.at("notes").dump(), Catch::Contains("was spent after 2 pairs"));
  const json row = row_of(report, kSlowRow);
  CHECK(row.at("n") == 2);
  REQUIRE(row.at("improvements").size() == 2);
  CHECK(row.at("improvements")[0] < 1);
  CHECK_FALSE(row_of(report, "null/steps time.step").is_null());
  CHECK(report.at("differences").empty());
  // Its files say the same again, and so does the campaign itself.
  const Outcome again = home.gate({"--baseline", (out / "baseline").string(), "--candidate",
                                   (out / "candidate").string(), "--metric", "time.step"});
  CAPTURE(again.out, again.err);
  CHECK(again.code == 5);
  CHECK(row_of(json::parse(again.out), kSlowRow).at("improvements") == row.at("improvements"));
  CHECK(home.gate({"--resume", out.string()}).code == 5);
  const fs::path page = folder / "page.html";
  CHECK(home.run({"report", out.string(), "-o", page.string()}).code == 0);
  CHECK_THAT(read_file(page, 1 << 24), Catch::Contains(kSlowRow));
}

TEST_CASE("the steps of a suite's tasks come first, in lockstep",
          "[gate][suite][lockstep][cli][long]") {
  const StepsHome home;
  const TemporaryFolder folder;
  const fs::path out = folder / "out";
  const fs::path gate_rules = home / "rules/gate.json";
  json rules = read_json_file(gate_rules);
  // The fewer share the error, the fewer clusters tell.
  rules["lockstep"]["metrics"] = {{{"tag", "time.unit"}, {"margin", 0.015}}};
  std::ofstream(gate_rules) << rules.dump();
  const std::string options = " --tasks 'stub-queries' --threads \"$((2 - 1))\"";
  const Outcome outcome =
      home.gate_commands(home.suite_command(options), home.slow_suite() + options, out,
                         {"--pairs", "14", "--metric", "time.step"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 4);
  const json report = json::parse(outcome.out);
  const json row = row_of(report, "stub-queries/lockstep time.step");
  CHECK(row.at("verdict") == "regressed");
  CHECK(row.at("counted") == "cluster");
  CHECK(report.at("errors").at("false_alarm") == 0.05);
  CHECK_THAT(report.at("notes").dump(), Catch::Contains("whole suites are not run"));
  CHECK_FALSE(fs::exists(out / "suites"));
  // The suite's options hold for the steps.
  const json plan = lines_of(out / "steps/stub-queries/plan.jsonl").front();
  CHECK(plan.at("baseline").at("command") == home.suite_command(options));
  CHECK(plan.at("baseline").at("starts") == "run");
  CHECK_THAT(plan.at("baseline").at("arguments").dump(),
             Catch::Contains(R"("--workload","stub-queries")") &&
                 Catch::Contains(R"("--threads","1")") && Catch::Contains("query-us=300"));
  // Told again, nothing is measured.
  const auto measured = fs::last_write_time(out / "steps/stub-queries/campaign.jsonl");
  CHECK(home.gate({"--resume", out.string()}).code == 4);
  CHECK(fs::last_write_time(out / "steps/stub-queries/campaign.jsonl") == measured);
  const fs::path page = folder / "page.html";
  CHECK(home.run({"report", out.string(), "-o", page.string()}).code == 0);
  CHECK_THAT(read_file(page, 1 << 24), Catch::Contains("stub-queries/lockstep time.step"));
}

TEST_CASE("whole suites follow with what is left of the budget, also after a stop",
          "[gate][suite][lockstep][resume][cli][long]") {
  const StepsHome home;
  const TemporaryFolder folder;
  const fs::path out = folder / "out";
  Process process({"gate", "--ab-base", home.suite_command(), "--ab-cand", home.suite_command(),
                   "--out", out.string(), "--budget", "0.2", "--allow-debug"},
                  home.environment(), {}, SuiteHome::program());
  wait_until([&] { return fs::exists(out / "steps/null/candidate"); });
  process.signal(SIGINT);
  const Outcome stopped = process.wait();
  CAPTURE(stopped.out, stopped.err);
  CHECK(stopped.code == 2);
  const Outcome outcome = home.gate({"--resume", out.string()});
  CAPTURE(outcome.out, outcome.err);
  // A fast and quiet machine may tell even so.
  CHECK((outcome.code == 5 || outcome.code == 0));
  const json report = json::parse(outcome.out);
  const std::string notes = report.at("notes").dump();
  CHECK_THAT(notes, Catch::Contains("null is judged by whole runs alone, not in lockstep: its "));
  CHECK(fs::exists(out / "verdict.jsonl"));
  if (!fs::exists(out / "suites")) {  // a machine so slow that nothing was left
    CHECK(row_of(report, "suites").at("verdict") == "inconclusive");
    return;
  }
  CHECK(report.at("unit") == "pair");
  CHECK_FALSE(row_of(report, kSlowRow).is_null());
  CHECK_FALSE(row_of(report, "null/steps quality target").is_null());
  CHECK_THAT(notes, Catch::Contains("out/suites/baseline"));
  CHECK(fs::exists(out / "suites/verdict.jsonl"));
}

TEST_CASE("steps that nights left open stay in the verdict where there is no time for more of them",
          "[gate][suite][lockstep][resume][cli][long]") {
  const StepsHome home;
  const TemporaryFolder folder;
  const fs::path out = folder / "out";
  json rules = read_json_file(home / "rules/gate.json");
  // Nothing is the same within so little.
  rules["lockstep"]["metrics"] = {{{"tag", "time.unit"}, {"margin", 0.0001}}};
  std::ofstream(home / "rules/gate.json") << rules.dump();
  const std::string suite = home.suite_command(" --tasks stub-queries");
  Process process({"gate", "--ab-base", suite, "--ab-cand", suite, "--out", out.string(), "--pool",
                   "--pairs", "16", "--budget", "60", "--allow-debug"},
                  home.environment(), {}, SuiteHome::program());
  wait_until([&] { return fs::exists(out / "steps/stub-queries/verdict.jsonl"); });
  process.signal(SIGINT);
  REQUIRE(process.wait().code == 2);
  const Outcome outcome = home.gate({"--resume", out.string(), "--budget", "0.01"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 5);
  const json report = json::parse(outcome.out);
  CHECK(row_of(report, "stub-queries/lockstep time.step").at("n") == 16);
  CHECK_THAT(report.at("notes").dump(),
             Catch::Contains("stub-queries/lockstep: goes on with no more clusters: its share"));
}

TEST_CASE("suites in turn that do not fit together are told apart at once", "[gate][suite][cli]") {
  const StepsHome home;
  const TemporaryFolder folder;
  const fs::path out = folder / "out";
  const std::string suite = home.suite_command();
  const Outcome missing =
      home.gate_commands(suite, home.suite_command(" --tasks 'null'"), out, {"--whole"});
  CAPTURE(missing.out, missing.err);
  CHECK(missing.code == 5);
  const json report = json::parse(missing.out);
  CHECK(report.at("forbidding")[0].at("name") == "stub-queries/steps");
  CHECK_FALSE(fs::exists(out / "steps"));
  const fs::path other = folder / "other";
  check_one_error(home.gate_commands(suite, harness_program() + " run --workload null", other), 1,
                  "one is a harness suite, the other is not");
  check_one_error(home.gate_commands(suite + " --out x", suite, folder / "a"), 1,
                  "has an --out of its own");
  check_one_error(home.gate_commands(suite, suite, folder / "b", {"--lockstep"}), 1,
                  "a suite does not step when told");
  check_one_error(home.gate_commands(suite, suite, folder / "c", {"--anchor", suite}), 1,
                  "is for single runs");
}

TEST_CASE("a suite with an invalid run is tried again, and is never judged", "[gate][suite][cli]") {
  if (without_loadgen()) return;
  const StepsHome home;
  const fs::path file = home / "rules/stub-queries.json";
  json rules = read_json_file(file);
  // Too few queries for LoadGen.
  rules["tiers"]["quick"]["scenarios"]["single-stream"] = {
      {"min_steps", 10}, {"min_seconds", 0.01}, {"samples_in_memory", 16}};
  std::ofstream(file) << rules.dump();
  json suite = read_json_file(home.rules_file());
  suite["tiers"]["quick"]["scenarios"] = {"single-stream"};
  home.write_rules(suite);
  const TemporaryFolder folder;
  const fs::path out = folder / "out";
  const Outcome outcome =
      home.gate_commands(home.suite_command(" --tasks stub-queries"),
                         home.suite_command(" --tasks stub-queries"), out, {"--whole"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.err, Catch::Contains("baseline, pair 1 was tried again: a run is invalid") &&
                              Catch::Contains("in two tries"));
  CHECK(fs::exists(out / "stopped-1" / "baseline" / "001"));
}

TEST_CASE("a task that the candidate's build does not know is left to the suites, and missed",
          "[gate][suite][lockstep][cli]") {
  const StepsHome home;
  const StepsHome other;
  json rules = read_json_file(other.rules_file());
  rules["tasks"].erase(1);
  other.write_rules(rules);
  fs::remove(other / "rules/stub-queries.json");
  const TemporaryFolder folder;
  const Outcome outcome = home.gate_commands(
      home.suite_command(), other.environment().front() + " " + home.suite_command(),
      folder / "out", {"--budget", "0.4"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 5);
  CHECK_THAT(outcome.err, Catch::Contains("stub-queries is judged by whole runs alone"));
  const json report = json::parse(outcome.out);
  REQUIRE(report.at("forbidding").size() == 1);
  CHECK(report.at("forbidding")[0].at("name") == "stub-queries/steps");
}
