// End to end: `harness suite` from its rules to its score, and what is done with its files.
#include <catch2/catch.hpp>
#include <cmath>

#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "tests/support/csv_cells.hpp"
#include "tests/support/python_check.hpp"
#include "tests/support/suite_home.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

void write_signed(const fs::path& file, json document) {
  document["digest"] = digest_of(document);
  write_file_atomically(file, readable_json(document));
}

/// The code of `validate` for the suite's file in `out` with `value` at `pointer`.
Outcome forged(const SuiteHome& home, const fs::path& out, const std::string& pointer,
               const json& value) {
  const TemporaryFolder folder;
  json document = read_suite(out);
  document[json::json_pointer(pointer)] = value;
  write_signed(folder / "suite.json", document);
  return home.run({"validate", (folder / "suite.json").string()});
}

}  // namespace

TEST_CASE("a suite measures each task in each scenario, and says what it left out", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  const Outcome outcome = home.suite(out.path());
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(badly_set(outcome.out, 100).empty());
  CHECK_THAT(outcome.out, Catch::Contains("null/steps") && Catch::Contains("not here"));
  CHECK_THAT(outcome.err, Catch::Contains("run 1 of 3: null/steps") &&
                              Catch::Contains("stub-train/steps: time.step"));
  CHECK_FALSE(fs::exists(out / "suite.state"));

  const json suite = read_suite(out.path());
  CHECK(suite["status"]["state"] == "valid");
  CHECK(suite["settings"]["effective"]["tasks"] == "null,stub-train");
  REQUIRE(suite["tasks"].size() == 4);
  for (const int i : {0, 1, 2}) {
    const json& task = suite["tasks"][i];
    CAPTURE(task);
    const json run = read_json_file(out / task["run"]["file"].get<std::string>());
    CHECK(run["identity"]["uuid"] == task["run"]["uuid"]);
    CHECK(run["digest"] == task["run"]["digest"]);
    CHECK(run["workload"]["scenario"] == task["scenario"]);
    const json& metric = run["metrics"][0];
    CHECK(metric["tag"] == task["figure"]["tag"]);
    CHECK(metric["summary"]["median"]["center"] == task["figure"]["value"]);
    CHECK(run["quality"]["value"] == task["quality"]["value"]);
  }
  CHECK(suite["tasks"][1]["figure"]["tag"] == "time.burst");
  const json& absent = suite["tasks"][3];
  CHECK(absent["available"] == false);
  CHECK(absent["run"].is_null());
  CHECK_THAT(absent["missing"]["run"].get<std::string>(), Catch::Contains("scenario 'bursts'"));
  CHECK(suite["score"]["value"].is_null());
  CHECK(suite["score"]["left_out"].size() == 4);
  // Bursts are no scenario of null's rules, and the stub has none at all.
  CHECK(suite["workload"]["division"] == "open");

  const Outcome validated = home.run({"validate", out.path().string()});
  INFO(validated.out);
  CHECK(validated.code == 0);
  check_with_python("suite", suite_file(out.path()),
                    {"", "/settings", "/tasks/0", "/tasks/0/run", "/tasks/0/figure",
                     "/tasks/0/quality", "/score", "/score/left_out/0"});
}

TEST_CASE("a suite is held against the runs beside it", "[suite][validate]") {
  const SuiteHome home;
  const TemporaryFolder out;
  REQUIRE(home.suite(out.path()).code == 0);
  const fs::path suite = suite_file(out.path());
  const auto file_of = [&](int i) {
    return read_suite(out.path())["tasks"][i]["run"]["file"].get<std::string>();
  };
  const fs::path first = out / file_of(0);
  CHECK(home.run({"validate", suite.string()}).code == 0);
  json run = read_json_file(first);
  run["identity"]["command_line"] = {"another"};
  write_signed(first, run);
  const Outcome changed = home.run({"validate", suite.string()});
  CHECK(changed.code == 3);
  CHECK_THAT(changed.out,
             Catch::Contains("/tasks/0/run/digest") && Catch::Contains("which was changed since"));
  fs::remove(first);
  const Outcome missing = home.run({"validate", suite.string()});
  CHECK(missing.code == 0);
  CHECK_THAT(missing.out, Catch::Contains("note: of its runs " + file_of(0) + " is not beside it"));
  for (const int i : {1, 2}) fs::remove(out / file_of(i));
  const Outcome alone = home.run({"validate", suite.string()});
  CHECK_THAT(alone.out, !Catch::Contains("beside it"));
}

TEST_CASE("a suite is shown as text, tables and a page, and is shared", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  const std::string folder = out.path().string();
  const Outcome csv = home.suite(out.path(), {"--csv"});
  REQUIRE(csv.code == 0);
  CHECK_THAT(csv.out, Catch::StartsWith("task,scenario,figure,") &&
                          Catch::Contains("\nnull,bursts,time.burst,s,lower,"));
  CHECK_THAT(home.run({"report", folder}).out, Catch::Contains("suite, 4 runs"));
  CHECK_THAT(home.run({"report", folder, "--csv"}).out, Catch::Contains(",null/bursts,"));
  const json report = json::parse(home.run({"report", folder, "--json"}).out);
  CHECK(report["results"].size() == 4);
  const TemporaryFolder pages;
  const fs::path page = pages / "page.html";
  const Outcome written = home.run({"report", folder, "-o", page.string()});
  CHECK_THAT(written.out, Catch::Contains("3 runs") && Catch::Contains("1 suite"));
  const std::string html = read_file(page, 1 << 24);
  CHECK_THAT(html, Catch::Contains("suite score") && Catch::Contains("Latency, steps") &&
                       Catch::Contains("suite-1-task-2"));
  const Outcome shared =
      home.run({"submit", suite_file(out.path()).string(), "--to", (pages / "tree").string()});
  INFO(shared.out << shared.err);
  CHECK(shared.code == 0);
  CHECK(home.run({"submit", "--check", (pages / "tree").string()}).code == 0);
  // What others are held against has a tree of its own within the tree.
  const fs::path frozen = pages / "frozen";
  CHECK(
      home.run({"submit", suite_file(out.path()).string(), "--to", (frozen / "reference").string()})
          .code == 0);
  CHECK(home.run({"submit", "--check", frozen.string()}).code == 0);
  CHECK(home.run({"submit", "--check", (frozen / "reference").string()}).code == 0);
}

TEST_CASE("the score is the geometric mean over a reference's figures", "[suite][long]") {
  const SuiteHome home;
  const TemporaryFolder before;
  const TemporaryFolder after;
  home.write({{"step-ms", "4"}});
  REQUIRE(home.suite(before.path()).code == 0);
  home.write({{"step-ms", "1"}}, 0, "1.1.0");  // other rules are another version of them
  const Outcome outcome =
      home.suite(after.path(), {"--reference", before.path().string(), "--json"});
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  const json suite = json::parse(outcome.out);
  const json old = read_suite(before.path());
  CHECK(suite["reference"]["digest"] == old["digest"]);
  CHECK(suite["reference"]["uuid"] == old["identity"]["uuid"]);
  double logarithms = 0;
  for (const int i : {0, 1, 2}) {
    const double ratio = old["tasks"][i]["figure"]["value"].get<double>() /
                         suite["tasks"][i]["figure"]["value"].get<double>();
    CHECK(suite["tasks"][i]["ratio"].get<double>() == Approx(ratio));
    logarithms += std::log(ratio);
  }
  CHECK(suite["tasks"][0]["ratio"] > 2);
  CHECK(suite["score"]["value"].get<double>() == Approx(std::exp(logarithms / 3)));
  CHECK(suite["score"]["counted"] == json({"null/steps", "null/bursts", "stub-train/steps"}));
  REQUIRE(suite["score"]["left_out"].size() == 1);
  CHECK(suite["score"]["left_out"][0]["name"] == "stub-train/bursts");

  SECTION("what was altered by hand is found") {
    CHECK(forged(home, after.path(), "/score/value", suite["score"]["value"].get<double>() * 1.01)
              .code == 3);
    CHECK(forged(home, after.path(), "/score/counted", json::array({"null/steps"})).code == 3);
    CHECK(forged(home, after.path(), "/tasks/0/ratio", 9).code == 3);
    CHECK(forged(home, after.path(), "/tasks/0/figure/value", 1e-9).code == 3);
    CHECK(forged(home, after.path(), "/tasks/0/quality/value", 0.1).code == 3);
    CHECK(forged(home, after.path(), "/tasks/0/quality/share", 0.5).code == 3);
    CHECK(forged(home, after.path(), "/tasks/0/run/state", "invalid").code == 3);
    CHECK(forged(home, after.path(), "/tasks/3/available", true).code == 3);
    CHECK(forged(home, after.path(), "/tasks/1/scenario", "steps").code == 3);
    CHECK(forged(home, after.path(), "/workload/division", "closed").code == 3);
    CHECK(forged(home, after.path(), "/reference", nullptr).code == 3);
    CHECK(forged(home, after.path(), "/settings/effective/tasks", "null").code == 3);
    CHECK(forged(home, after.path(), "/tasks/0/run/uuid", suite["tasks"][1]["run"]["uuid"]).code ==
          3);
    CHECK(forged(home, after.path(), "/notice", suite["notice"]).code == 0);
  }
  SECTION("rules may name it") {
    json rules = read_json_file(home.rules_file());
    rules["reference"] = "results/frozen";
    home.write_rules(rules);
    fs::create_directory(home / "results/frozen");
    fs::copy(suite_file(before.path()), home / "results/frozen/suite.json");
    const TemporaryFolder again;
    REQUIRE(home.suite(again.path()).code == 0);
    CHECK(read_suite(again.path())["score"]["counted"].size() == 3);
    // A run of other rules is no measure, and a damaged reference no reference.
    json stub = read_json_file(home / "rules/stub-train.json");
    stub["version"] = "2.0.0";
    std::ofstream(home / "rules/stub-train.json") << stub;
    const TemporaryFolder other;
    REQUIRE(home.suite(other.path()).code == 0);
    const json score = read_suite(other.path())["score"];
    CHECK(score["counted"].size() == 2);
    CHECK_THAT(score["left_out"][0]["reason"].get<std::string>(),
               Catch::Contains("under version 1.0.0"));
    fs::resize_file(home / "results/frozen/suite.json", 1000);
    const TemporaryFolder none;
    CHECK(home.suite(none.path()).code == 1);
    CHECK(fs::is_empty(none.path()));
  }
}

TEST_CASE("one invalid run makes a suite invalid, and the others are measured", "[suite]") {
  const SuiteHome home;
  home.write({{"quality", "0.1"}});
  const TemporaryFolder out;
  const Outcome outcome = home.suite(out.path());
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 3);
  CHECK_THAT(outcome.out, Catch::Contains("MISSED"));
  json suite = read_suite(out.path());
  CHECK(suite["status"]["state"] == "invalid");
  CHECK(suite["tasks"][0]["run"]["state"] == "invalid");
  CHECK(suite["tasks"][2]["run"]["state"] == "valid");
  CHECK(home.run({"validate", suite_file(out.path()).string()}).code == 3);
  CHECK_THAT(outcome.err, Catch::Contains(SuiteHome::program() + " suite --resume"));
  // Only what was invalid is measured again.
  const std::string stub = suite["tasks"][2]["run"]["uuid"];
  home.write({});
  const Outcome other_rules = home.run({"suite", "--resume", out.path().string()});
  CAPTURE(other_rules.err);
  CHECK(other_rules.code == 0);
  suite = read_suite(out.path());
  CHECK(suite["status"]["state"] == "valid");
  CHECK(suite["tasks"][2]["run"]["uuid"] == stub);
  CHECK_FALSE(fs::exists(out / "suite.state"));
}

TEST_CASE("a run that fails leaves the others, and the worst one decides", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  SECTION("before its first step") {
    home.write({{"fail-prepare", "yes"}});
    const Outcome outcome = home.suite(out.path());
    CAPTURE(outcome.err);
    CHECK(outcome.code == 1);
    const json suite = read_suite(out.path());
    CHECK(suite["status"]["state"] == "invalid");
    CHECK(suite["tasks"][0]["run"].is_null());
    CHECK_THAT(suite["tasks"][0]["missing"]["run"].get<std::string>(),
               Catch::Contains("exit code 1"));
    CHECK(suite["tasks"][2]["run"]["state"] == "valid");
  }
  SECTION("within its steps") {
    home.write({{"fail-at", "5"}});
    const Outcome outcome = home.suite(out.path());
    CHECK(outcome.code == 2);
    CHECK(read_suite(out.path())["tasks"][0]["run"]["state"] == "aborted");
  }
  SECTION("all of them") {
    home.write({{"fail-prepare", "yes"}});
    const Outcome outcome = home.suite(out.path(), {"--tasks", "null"});
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, Catch::Contains("no run left a result"));
    CHECK(files_ending(out.path(), ".json").empty());
    CHECK_FALSE(fs::exists(out / "suite.state"));  // nothing to go on with
    return;
  }
  CHECK(fs::exists(out / "suite.state"));
  home.write({});
  CHECK(home.run({"suite", "--resume", out.path().string()}).code == 0);
  CHECK(home.run({"validate", out.path().string()}).code == 0);
}

TEST_CASE("a part of a suite is open, and runs in the order asked", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  const Outcome outcome =
      home.suite(out.path(), {"--tasks", "stub-train,null", "--scenarios", "steps", "--precision",
                              "fp32", "--threads", "1"});
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  const json suite = read_suite(out.path());
  CHECK(suite["tasks"][0]["workload"] == "stub-train");
  CHECK(suite["workload"]["division"] == "open");
  CHECK(suite["settings"]["requested"]["threads"] == 1);
  const json run = read_json_file(out / suite["tasks"][1]["run"]["file"].get<std::string>());
  CHECK(run["settings"]["requested"]["threads"] == 1);
  CHECK(home.run({"validate", out.path().string()}).code == 0);
}

TEST_CASE("rules from a file are a departure, and cannot be judged later", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  json rules = read_json_file(home.rules_file());
  rules["tiers"]["quick"]["scenarios"] = {"steps"};
  std::ofstream(home / "own.json") << rules;
  REQUIRE(home.suite(out.path(), {"--rules", (home / "own.json").string()}).code == 0);
  const json suite = read_suite(out.path());
  CHECK(suite["workload"]["rules_file"] == "own.json");
  CHECK(suite["workload"]["departures"][0]["path"] == "/workload/rules_file");
  CHECK_THAT(home.run({"validate", suite_file(out.path()).string()}).out,
             Catch::Contains("not judged by its rules"));
}

TEST_CASE("absurd options are refused before anything is measured", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  const auto refused = [&](const std::vector<std::string>& options, const std::string& part) {
    check_one_error(home.suite(out.path(), options), 1, part);
    CHECK(fs::is_empty(out.path()));
  };
  refused({"--tasks", "nul"}, "did you mean null?");
  refused({"--tasks", ""}, "is empty");
  refused({"--tasks", ","}, "the suite has no ''");
  refused({"--tasks", "null,null"}, "is given twice");
  refused({"--tasks", "../null"}, "the suite has no");
  refused({"--tasks", "stub-train", "--scenarios", "bursts"}, "stub-train");
  refused({"--scenarios", "server"}, "the suite has no 'server'");
  refused({"--tier", "nightly"}, "--tier nightly");
  refused({"--threads", "1000000"}, "CPUs");
  refused({"--threads", "0"}, "--threads 0");
  refused({"--precision", "fp7"}, "--precision");
  refused({"--kernels", "nothing=elsewhere"}, "elsewhere");
  refused({"--kernels", "everything=custom"}, "everything");
  refused({"--division", "closed"}, "--division closed");
  refused({"--reference", (out / "none").string()}, "none");
  refused({"--reference", home.rules_file().string()}, "suite.json");
  refused({"--rules", (out / "none").string()}, "none");
  refused({"--json", "--csv"}, "given together");
  refused({"--resume", out.path().string()}, "takes no other options");
  check_one_error(home.run({"suite", "--resume", out.path().string()}), 1,
                  "no unfinished suite lies there");
  check_one_error(home.run({"suite", "--resume", (out / "none").string()}), 1,
                  "no unfinished suite");
  check_one_error(home.run({"suite", "word"}), 1, "not expected");
}

TEST_CASE("hostile rules of a suite are refused with the place in the file", "[suite]") {
  const SuiteHome home;
  const TemporaryFolder out;
  const json good = read_json_file(home.rules_file());
  const auto refused = [&](const std::string& pointer, const json& value, const std::string& part) {
    json rules = good;
    rules[json::json_pointer(pointer)] = value;
    home.write_rules(rules);
    CAPTURE(pointer, value);
    check_one_error(home.suite(out.path()), 1, part);
    CHECK(fs::is_empty(out.path()));
  };
  refused("/kind", "gate", "/kind");
  refused("/unknown", 1, "suite.schema.json");
  refused("/version", "1", "/version");
  refused("/default_tier", "none", "/default_tier: there is no such tier");
  refused("/tasks", json::array(), "/tasks");
  refused("/tasks", json(std::vector<json>(33, {{"workload", "null"}})), "/tasks");
  refused("/tasks/1/workload", "null", "'null' is there twice");
  refused("/tasks/0/workload", "../../null", "/tasks/0/workload");
  refused("/tasks/0/workload", "n\x1b[31m", "/tasks/0/workload");
  refused("/tasks/0/set", {{"step-ms", 1}}, "/tasks/0/set");
  refused("/tasks/0/set", {{"--out", "x"}}, "/tasks/0: ");
  refused("/tiers", json::object(), "/tiers");
  refused("/tiers/quick/scenarios", json::array(), "scenarios");
  refused("/tiers/quick/scenarios", {"steps", "steps"}, "'steps' is there twice");
  refused("/tiers/quick/scenarios/0", "a,b", "scenarios");
  refused("/tiers/quick/pause_seconds", -1, "pause_seconds");
  refused("/tiers/quick/pause_seconds", 1e300, "pause_seconds");
  refused("/reference", "/etc/passwd", "/reference");
  std::ofstream(home.rules_file()) << R"({"kind": "suite", "kind": "suite"})";
  CHECK(home.suite(out.path()).code == 1);
  std::ofstream(home.rules_file()) << std::string(2 << 20, ' ');
  CHECK(home.suite(out.path()).code == 1);
  // Names that nothing here has: left out, and in the end nothing is left.
  json unknown = good;
  unknown["tasks"] = json::array({json{{"workload", "elsewhere"}}});
  home.write_rules(unknown);
  check_one_error(home.suite(out.path()), 1, "no workload 'elsewhere'");
}

TEST_CASE("the suite that comes with the program names tasks once, and four scenarios", "[suite]") {
  const json rules = read_json_file(home_folder() / "rules/suite.json");
  CHECK(rules["tiers"]["quick"]["scenarios"] == json({"single-stream", "offline"}));
  for (const char* tier : {"standard", "submission"}) {
    CHECK(rules["tiers"][tier]["scenarios"].size() == 4);
  }
}
