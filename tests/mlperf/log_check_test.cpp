#include "harness/mlperf/log_check.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>

#include "harness/base/files.hpp"
#include "tests/support/altered_logs.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

namespace fs = std::filesystem;
using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

const LogRules& rules() {
  static const LogRules loaded = load_log_rules(home_folder(), "mlperf-training-5.1.0");
  return loaded;
}

LogCheck check_of(const std::string& text) {
  return check_log(rules(), parse_log(text, rules().prefix, "run.log"));
}

std::set<std::string> names(const std::vector<LogFinding>& findings) {
  std::set<std::string> names;
  for (const LogFinding& finding : findings) names.insert(finding.rule);
  return names;
}

const AlteredLog& log_named(const std::vector<AlteredLog>& logs, const std::string& name) {
  for (const AlteredLog& log : logs) {
    if (log.name == name) return log;
  }
  throw std::runtime_error("no log " + name);
}

// For other judges of the same logs; tests/mlperf/mlperf_logs_test.py asks for them.
void write_logs(const fs::path& folder, const char* kind, const std::vector<AlteredLog>& logs) {
  fs::create_directories(folder / kind);
  for (const AlteredLog& log : logs) {
    std::ofstream(folder / kind / (log.name + ".log"), std::ios::binary) << log.text;
  }
}

}  // namespace

TEST_CASE("each rule of a log broken once is found and named", "[mlperf]") {
  const std::vector<AlteredLog> logs = altered_logs();
  std::vector<AlteredLog> all = logs;
  for (const AlteredLog& log : stricter_judged_logs()) all.push_back(log);
  std::set<std::string> broken;
  for (const AlteredLog& log : all) {
    INFO(log.name);
    const LogCheck check = check_of(log.text);
    CHECK(check.passed() == log.rule.empty());
    if (log.rule.empty()) continue;
    broken.insert(log.rule);
    CHECK(names(check.problems).count(log.rule) == 1);
    for (const LogFinding& finding : check.problems) {
      CHECK(!finding.expected.empty());
      CHECK(!finding.actual.empty());
    }
  }
  CHECK(broken.size() > 50);
  for (const LogRuleGroup& group : rules().groups) {
    for (const LogRule& rule : group.rules) {
      INFO(rule.name);
      CHECK(broken.count(rule.name) == 1);
    }
  }
  if (const char* folder = std::getenv("HARNESS_WRITE_LOGS")) {
    write_logs(folder, "alike", logs);
    write_logs(folder, "stricter", stricter_judged_logs());
    write_logs(folder, "unreadable", unreadable_logs());
    write_logs(folder, "strict", strictly_read_logs());
  }
}

TEST_CASE("a finding names the line, what was expected and what is there", "[mlperf]") {
  const std::vector<AlteredLog> logs = altered_logs();
  const auto only = [&](const std::string& name) {
    const LogCheck check = check_of(log_named(logs, name).text);
    REQUIRE(check.problems.size() == 1);
    return check.problems.front();
  };
  const LogFinding optimiser = only("another optimiser");
  CHECK(optimiser.expected == "opt_name \"adam\"");
  CHECK(optimiser.actual == "\"sgd\"");
  CHECK(optimiser.line > 1);
  const LogFinding missing = only("no cache clear");
  CHECK(missing.line == 0);
  CHECK(missing.actual == "none");
  const LogFinding twice = only("two organisations");
  CHECK(twice.line == 4);
  CHECK(twice.actual == "2");
  const LogFinding slow = only("init of 30 minutes");
  CHECK(slow.expected == "init_stop less than 30 minutes after init_start");
  CHECK(slow.actual == "30.00 minutes");
  const LogFinding target = only("target just missed");
  CHECK(target.expected == "some eval_accuracy at least 0.34 and below 1");
  CHECK(target.actual == "0.3399 at best");
  CHECK(only("init stop before the division").expected == "submission_division before init_stop");
}

TEST_CASE("notes tell what later rules and other tools ask for", "[mlperf]") {
  const std::vector<AlteredLog> logs = altered_logs();
  CHECK(check_of(log_named(logs, "untouched").text).notes.empty());
  const LogCheck aborted = check_of(log_named(logs, "aborted after the target").text);
  CHECK(aborted.passed());
  CHECK(names(aborted.notes) == std::set<std::string>{"status-success"});
  const LogCheck seedless = check_of(log_named(logs, "unknown key").text);
  CHECK(seedless.passed());
  CHECK(names(seedless.notes) == std::set<std::string>{"seed-logged"});
}

TEST_CASE("what cannot be read as a log is one clear error", "[mlperf]") {
  for (const auto& logs : {unreadable_logs(), strictly_read_logs()}) {
    for (const AlteredLog& log : logs) {
      INFO(log.name);
      CHECK_THAT(refused([&] { check_of(log.text); }), Catch::StartsWith("run.log"));
    }
  }
  const auto refusal = [](const char* name) {
    return refusal_of([&] { check_of(log_named(unreadable_logs(), name).text); });
  };
  CHECK(refusal("empty").names("':::MLLOG'"));
  CHECK(refusal("nested deep").names("16 deep"));
}

TEST_CASE("rules of logs that break their schema name the place", "[mlperf]") {
  const TemporaryFolder home;
  fs::create_directories(home / "rules");
  for (const char* name : {"mlperf-log.schema.json", "mlperf-training-5.1.0.json"}) {
    fs::copy_file(home_folder() / "rules" / name, home / fs::path("rules") / name);
  }
  const auto edited = [&](const std::function<void(nlohmann::json&)>& edit) {
    nlohmann::json document =
        nlohmann::json::parse(std::ifstream(home / "rules/mlperf-training-5.1.0.json"));
    edit(document);
    std::ofstream(home / "rules/edited.json") << document;
    return refusal_of([&] { load_log_rules(home.path(), "edited"); });
  };
  CHECK(edited([](auto&) {}).about.empty());
  const auto rule = [](nlohmann::json& document) -> nlohmann::json& {
    return document["groups"][0]["rules"][1];
  };
  CHECK(edited([&](auto& d) { rule(d)["op"] = "eval"; }).place() == "/groups/0/rules/1/op");
  CHECK(edited([&](auto& d) { rule(d).erase("value"); }).place() == "/groups/0/rules/1");
  CHECK(edited([&](auto& d) { rule(d)["op"] = "at_least"; }).place() == "/groups/0/rules/1/value");
  CHECK_THAT(edited([&](auto& d) { rule(d)["surprise"] = 1; }),
             is_at("/groups/0/rules/1", {"'surprise'"}));
  CHECK(edited([&](auto& d) { d.erase("line"); }).names("line"));
}

TEST_CASE("check-log gives each file a verdict and exits as validate does", "[mlperf][cli]") {
  const TemporaryFolder folder;
  const std::vector<AlteredLog> logs = altered_logs();
  const auto file = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  };
  const std::string good = file("good.log", log_named(logs, "untouched").text);
  const std::string bad = file("bad.log", log_named(logs, "another optimiser").text);
  const std::string cut = file("cut.log", unreadable_logs().at(3).text);

  Outcome outcome = run_harness({"check-log", good});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, HasLines({good + ": passes the log rules of MLPerf training 5.1.0*"}));
  CHECK_THAT(outcome.out, HasLines({"Result not verified by MLCommons Association."}));

  outcome = run_harness({"check-log", good, bad});
  CHECK(outcome.code == 3);
  CHECK_THAT(outcome.out,
             HasLines({bad + ": breaks the log rules*",
                       "*optimiser-adam: expected opt_name \"adam\", actual \"sgd\"*"}));

  outcome = run_harness({"check-log", "--json", good, bad, cut});
  CHECK(outcome.code == 1);
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  CHECK(document.at("logs").at(0).at("verdict") == "passed");
  CHECK(document.at("logs").at(0).at("problems").empty());
  CHECK(document.at("logs").at(1).at("verdict") == "failed");
  CHECK(document.at("logs").at(1).at("problems").at(0).at("rule") == "optimiser-adam");
  CHECK(document.at("logs").at(1).at("problems").at(0).at("line").is_number());
  CHECK(document.at("logs").at(2).at("verdict") == "unreadable");
}

TEST_CASE("check-log answers hostile files with one line", "[mlperf][cli]") {
  const TemporaryFolder folder;
  check_one_error(run_harness({"check-log"}), 1, "no file given");
  check_one_error(run_harness({"check-log", (folder / "missing.log").string()}), 1, "No such file");
  check_one_error(run_harness({"check-log", folder.path().string()}), 1, "not a regular file");
  check_one_error(run_harness({"check-log", "--rules", "nothing", "x"}), 1, "nothing.json");
  for (const AlteredLog& log : unreadable_logs()) {
    INFO(log.name);
    std::ofstream(folder / "hostile.log", std::ios::binary) << log.text;
    check_one_error(run_harness({"check-log", (folder / "hostile.log").string()}), 1,
                    "hostile.log");
  }
  // MLPerf's own check takes hours for lines like these.
  for (const std::string& line : {std::string(100'000, '['), std::string(2'000'000, 'x')}) {
    std::ofstream(folder / "long.log", std::ios::binary) << ":::MLLOG " << line << "\n";
    check_one_error(run_harness({"check-log", (folder / "long.log").string()}), 1,
                    "long.log line 1");
  }
  // One line of a gigabyte, sparse on disk.
  std::ofstream(folder / "huge.log") << ":::MLLOG {\"key\": \"";
  fs::resize_file(folder / "huge.log", std::uintmax_t{1} << 30);
  check_one_error(run_harness({"check-log", (folder / "huge.log").string()}), 1, "over the limit");
}
