// LoadGen's scenarios from the command line to the file, over a workload that sleeps.
#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/result/digest.hpp"
#include "tests/added/run_added.hpp"
#include "tests/added/stub_queries.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/suite_home.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// With a rate where there is one to give.
std::vector<std::string> at_rate(const std::string& scenario, std::vector<std::string> more) {
  if (scenario == "server") more.insert(more.end(), {"--server-rate", "500"});
  return more;
}

/// The outcome's numbers in LoadGen's own log.
json logged(const fs::path& out, const std::string& key) {
  for (const auto& entry : fs::directory_iterator(out)) {
    if (entry.path().extension() != ".loadgen") continue;
    std::ifstream log(entry.path() / "performance" / "run_1" / "mlperf_log_detail.txt");
    for (std::string line; std::getline(log, line);) {
      const json object = json::parse(line.substr(line.find('{')));
      if (object.at("key") == key) return object.at("value");
    }
  }
  return {};
}

}  // namespace

TEST_CASE("a run by LoadGen holds what LoadGen's own log says", "[queries]") {
  if (without_loadgen()) return;
  struct Case {
    const char* scenario;
    const char* key;
    double scale;
    const char* metric;
  };
  const Case one =
      GENERATE(Case{"single-stream", "early_stopping_latency_ss", 1e-9, "latency.query"},
               Case{"multi-stream", "early_stopping_latency_ms", 1e-9, "latency.query"},
               Case{"server", "result_completed_samples_per_sec", 1, "latency.query"},
               Case{"offline", "result_samples_per_second", 1, "time.batch"});
  const TemporaryFolder folder;
  const Outcome outcome = run_added(queries_command(one.scenario, folder.path()));
  INFO(one.scenario << outcome.err << outcome.out);
  // Whether a server holds its bound is a matter of what else the machine does.
  const bool server = std::string(one.scenario) == "server";
  REQUIRE((outcome.code == 0 || (server && outcome.code == 3)));
  const json result = result_in(folder.path());
  const json& report = result.at("loadgen");
  CHECK(report.at("validity") == (outcome.code == 0 ? "valid" : "invalid"));
  const double value = report.at("/figure/value"_json_pointer);
  CHECK(value == Approx(logged(folder.path(), one.key).get<double>() * one.scale).epsilon(1e-12));
  CHECK(value > 0);
  CHECK(result.at("/workload/scenario"_json_pointer) == one.scenario);
  CHECK(result.at("/quality/value"_json_pointer) == 1.0);
  CHECK(result.at("/metrics/0/tag"_json_pointer) == one.metric);
  CHECK((outcome.out.find(" queries of 2 in ") != std::string::npos) ==
        (std::string(one.scenario) == "multi-stream"));
  for (const json& file : report.at("files")) {
    CHECK(sha256_of_file(folder.path() / file.at("file").get<std::string>()) ==
          file.at("sha256").get<std::string>());
  }
  // Our clock is read just before LoadGen's.
  if (std::string(one.scenario) == "single-stream") {
    const double ours = result.at("/metrics/0/summary/median"_json_pointer).at("center");
    const double theirs = logged(folder.path(), "result_50.00_percentile_latency_ns");
    CHECK(ours <= theirs * 1e-9 * (1 + 1e-9));
    CHECK(ours > 0);
  }
  const int judged = run_added({"validate", only_file(folder.path(), ".json").string()}).code;
  CHECK(judged == outcome.code);
}

TEST_CASE("answers that are wrong cost the quality, and so the run", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  const Outcome outcome =
      run_added(queries_command("offline", folder.path(), {"--set", "wrong=20"}));
  CHECK(outcome.code == 3);
  CHECK(result_in(folder.path()).at("/quality/value"_json_pointer) == Approx(0.6));
}

TEST_CASE("a test that LoadGen calls invalid is invalid, with its reasons", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  // Too few queries for early stopping.
  const Outcome outcome =
      run_added(queries_command("single-stream", folder.path(), {"--steps", "10"}));
  CHECK(outcome.code == 3);
  const json result = result_in(folder.path());
  CHECK(result.at("/loadgen/validity"_json_pointer) == "invalid");
  CHECK_THAT(result.at("/loadgen/reasons"_json_pointer).dump(),
             Catch::Contains("Early stopping") || Catch::Contains("early stopping"));
  CHECK(result.at("/status/state"_json_pointer) == "invalid");
}

TEST_CASE("Ctrl-C leaves an aborted result with the latencies so far", "[queries]") {
  if (without_loadgen()) return;
  const std::string scenario = GENERATE("single-stream", "multi-stream", "server", "offline");
  const TemporaryFolder folder;
  const fs::path program = fs::path(harness_program()).parent_path() / "harness_added";
  Process process(
      queries_command(scenario, folder.path(), at_rate(scenario, {"--min-seconds", "60"})), {}, {},
      program.string());
  wait_for_line(folder.path(), ".jsonl", "\"step\":60,");
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  INFO(scenario << outcome.err);
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err, Catch::Contains("stopping after the query in progress"));
  const json result = result_in(folder.path());
  CHECK(result.at("/status/state"_json_pointer) == "aborted");
  CHECK(result.at("/metrics/0/samples"_json_pointer).size() >= 50);
  CHECK(run_added({"validate", only_file(folder.path(), ".json").string()}).code == 3);
}

TEST_CASE("kill -9 loses no latency that was written", "[queries]") {
  if (without_loadgen()) return;
  const std::string scenario = GENERATE("single-stream", "offline", "server");
  const TemporaryFolder folder;
  const fs::path program = fs::path(harness_program()).parent_path() / "harness_added";
  Process process(
      queries_command(scenario, folder.path(), at_rate(scenario, {"--min-seconds", "60"})), {}, {},
      program.string());
  wait_for_line(folder.path(), ".jsonl", "\"step\":60,");
  process.signal(SIGKILL);
  CHECK(process.wait().code == 128 + SIGKILL);
  // The last line may have been cut.
  const std::string written = read_file(only_file(folder.path(), ".jsonl"), 1 << 26);
  CHECK(std::count(written.begin(), written.end(), '\n') > 50);
  CHECK(files_ending(folder.path(), ".json").empty());
  for (const char* reader : {"report", "validate"}) {
    check_one_error(run_added({reader, folder.path().string()}), 1,
                    "there holds the samples of a run without a result");
  }
}

TEST_CASE("a workload that breaks under LoadGen ends the run with what was measured", "[queries]") {
  if (without_loadgen()) return;
  const std::string scenario = GENERATE("single-stream", "offline", "server");
  const TemporaryFolder folder;
  const Outcome outcome = run_added(
      queries_command(scenario, folder.path(), at_rate(scenario, {"--set", "breaks-after=300"})));
  INFO(scenario << outcome.err);
  CHECK(outcome.code == 2);
  const json result = result_in(folder.path());
  CHECK(result.at("/status/state"_json_pointer) == "aborted");
  CHECK_THAT(result.at("/status/violations/0/actual"_json_pointer).get<std::string>(),
             Catch::EndsWith("the stub broke"));
}

TEST_CASE("files of LoadGen's that lie about change nothing", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  for (const char* name : {"audit.config", "user.conf", "mlperf.conf"}) {
    std::ofstream(folder / name) << "*.*.mode = 1\n*.*.min_query_count = 3\n";
  }
  const fs::path program = fs::path(harness_program()).parent_path() / "harness_added";
  const Outcome outcome =
      Process(queries_command("offline", folder / "out"), {}, folder.path(), program.string())
          .wait();
  INFO(outcome.err);
  CHECK(outcome.code == 0);
}

TEST_CASE("compliance tests pass where answers and speed stay, and tell where they do not",
          "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  const auto audited = [&](const char* test, const char* more, const fs::path& out) {
    const Outcome outcome = run_added(queries_command(
        "offline", out, {"--audit", test, "--set", more, "--set", "query-us=1000"}));
    INFO(outcome.err);
    CHECK(outcome.code != 1);
    return result_in(out).at("loadgen");
  };
  // A busy machine may make one of two tests slow; that answers differ is said of none of these.
  const json honest = audited("TEST01", "fickle=0", folder / "honest");
  CHECK(honest.at("audit") == "TEST01");
  CHECK_THAT(honest.at("reasons").dump(), !Catch::Contains("answers logged"));
  const json fickle = audited("TEST01", "fickle=1", folder / "fickle");
  CHECK(fickle.at("validity") == "invalid");
  CHECK_THAT(fickle.at("reasons").dump(), Catch::Contains("answers logged"));
  CHECK(audited("TEST04", "fickle=0", folder / "same").at("audit") == "TEST04");
  const std::string log = read_file(
      only_file(folder / "same", ".loadgen") / "audit" / "mlperf_log_detail.txt", 1 << 24);
  CHECK(log.find("\"effective_performance_issue_same\", \"value\": true") != std::string::npos);
}

TEST_CASE("threads and batch size are chosen by measuring, once for a series", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  json rules = read_json(kStubRules);
  json& offline = rules["tiers"]["quick"]["scenarios"]["offline"];
  offline.update({{"search_seconds", 5}, {"any_batch_size", true}});
  const std::string file = (folder / "rules.json").string();
  std::ofstream(file) << rules;
  const auto run = [&](const fs::path& out, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"run",   "--rules",    file,    "--scenario",      "offline",
                                       "--out", out.string(), "--set", "overhead-us=5000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Outcome outcome = run_added(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return outcome;
  };

  // A query takes 5 ms beside its samples, so the largest batch is the fastest: 16 of 50 samples.
  CHECK_THAT(run(folder / "series", {"--runs", "2"}).out, Catch::Contains("batches of 16"));
  std::map<std::int64_t, json> by_index;
  for (const fs::path& path : files_ending(folder / "series", ".json")) {
    const json result = read_json(path);
    by_index[result["identity"]["run_index"]] = result;
    CHECK(result["settings"]["effective"]["batch_size"] == 16);
    CHECK(result["workload"]["departures"].empty() == false);  // --rules alone
    CHECK(result["workload"]["departures"].size() == 1);
    CHECK(run_added({"validate", path.string()}).code == 0);
  }
  REQUIRE(by_index.size() == 2);
  const json& first = by_index[1]["loadgen"]["set_up"];
  CHECK(first["trials"][0]["batch_size"] == 8);  // the usual one
  CHECK(first["trials"].size() >= 4);
  CHECK_FALSE(first.contains("from"));
  CHECK(by_index[2]["loadgen"]["set_up"]["from"] == by_index[1]["identity"]["uuid"]);
  CHECK(by_index[2]["loadgen"]["set_up"]["trials"] == first["trials"]);
  CHECK(by_index[2]["settings"]["effective"]["threads"] ==
        by_index[1]["settings"]["effective"]["threads"]);

  // Files that contradict themselves, with digests that fit.
  const std::vector<std::tuple<const char*, double, const char*>> lies = {
      {"/loadgen/set_up/trials/0/samples_per_second", 1e9, "/settings/effective/batch_size"},
      {"/loadgen/percentiles/0/seconds", 1e-9, "/loadgen/percentiles/0/seconds"},
      {"/loadgen/log/result_min_queries_met", 0, "/loadgen/log/result_min_queries_met"},
      {"/loadgen/figure/value", 1e9, "/loadgen/figure/value"},
      {"/loadgen/requested/min_duration_ms", 1, "/loadgen/requested/min_duration_ms"},
      {"/loadgen/requested/min_query_count", 1, "/loadgen/requested/min_query_count"},
      {"/loadgen/requested/performance_issue_same", 1,
       "/loadgen/requested/performance_issue_same"}};
  for (const auto& [where, value, named] : lies) {
    json forged = by_index[1];
    forged[json::json_pointer(where)] = value;
    forged["digest"] = digest_of(forged);
    const fs::path lie = folder / "forged.json";
    std::ofstream(lie) << forged;
    const Outcome refused = run_added({"validate", lie.string()});
    CHECK(refused.code != 0);
    CHECK_THAT(refused.out, HasLines({"  " + std::string(named) + ": *"}));
  }

  // Nor may the logs beside a file change; without them it is still a result.
  const fs::path one = files_ending(folder / "series", ".json").front();
  const fs::path logs = folder / "series" / (one.stem().string() + ".loadgen");
  std::ofstream(logs / "performance/run_1/mlperf_log_summary.txt", std::ios::app) << "more";
  const Outcome changed = run_added({"validate", one.string()});
  CHECK(changed.code == 3);
  CHECK_THAT(changed.out, Catch::Contains("mlperf_log_summary.txt, which was changed"));
  fs::remove_all(logs);
  CHECK(run_added({"validate", one.string()}).code == 0);

  // What was asked for is not searched.
  run(folder / "asked", {"--threads", "1", "--batch-size", "4", "--precision", "fp32"});
  const json asked = result_in(folder / "asked");
  CHECK_FALSE(asked["loadgen"].contains("set_up"));
  CHECK(asked["settings"]["effective"]["batch_size"] == 4);
}

TEST_CASE("a scenario that the tier does not name is told before the run", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  json rules = read_json(kStubRules);
  rules["tiers"]["quick"]["scenarios"].erase("multi-stream");
  std::ofstream(folder / "rules.json") << rules.dump();
  const Outcome named = run_added({"run", "--rules", (folder / "rules.json").string(), "--scenario",
                                   "offline", "--out", (folder / "named").string()});
  CHECK_THAT(named.err, !HasLines({"note: tier*"}));
  const Outcome outcome =
      run_added({"run", "--rules", (folder / "rules.json").string(), "--scenario", "multi-stream",
                 "--out", (folder / "out").string()});
  CHECK_THAT(outcome.err,
             Catch::StartsWith("note: tier 'quick' of stub-queries is for the scenarios steps, "
                               "offline, server, single-stream: in 'multi-stream' the division is "
                               "open\n"));
}

TEST_CASE("an offline run that was stopped has no figure", "[queries]") {
  if (without_loadgen()) return;
  const SuiteHome home;
  home.write_queries("1000");
  const TemporaryFolder out;
  Process process({"suite", "--scenarios", "offline", "--out", out.path().string()},
                  home.environment(), {}, SuiteHome::program());
  wait_for_first_step(out.path());
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.out, Catch::Contains("stub-queries/offline                  -     -"));
}

TEST_CASE("options that do nothing in a scenario are refused", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& more, const char* part) {
    std::vector<std::string> arguments{"run", "--rules", kStubRules, "--out",
                                       folder.path().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    check_one_error(run_added(arguments), 1, part);
  };
  refused({"--audit", "TEST01"}, "--audit: does nothing in scenario 'steps'");
  refused({"--server-rate", "5"}, "--server-rate: does nothing in scenario 'steps'");
  refused({"--server-rate", "5", "--scenario", "offline"}, "--scenario server");
  refused({"--lockstep", "--scenario", "offline"}, "is driven by LoadGen");
  CHECK(files_ending(folder.path(), ".json").empty());
}

TEST_CASE("where nothing can be kept nothing is tried", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "not a folder";
  const Outcome outcome = run_added(queries_command("offline", folder / "file"));
  check_one_error(outcome, 1, "file");
  CHECK(outcome.err.find("trying") == std::string::npos);
}

TEST_CASE("a run of LoadGen's is repeated by --from", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  const std::string scenario = GENERATE("single-stream", "multi-stream", "offline");
  REQUIRE(run_added(queries_command(scenario, folder / "first")).code == 0);
  const fs::path first = only_file(folder / "first", ".json");
  const Outcome again =
      run_added({"run", "--from", first.string(), "--out", (folder / "again").string()});
  INFO(scenario << again.err);
  CHECK(again.code == 0);
  CHECK(result_in(folder / "again")["workload"]["scenario"] == scenario);
}

TEST_CASE("queries of their own size take no batch size", "[queries]") {
  const TemporaryFolder folder;
  const std::string scenario = GENERATE("single-stream", "multi-stream");
  const Outcome outcome =
      run_added(queries_command(scenario, folder / "out", {"--batch-size", "4"}));
  CHECK(refusal_in(outcome).about == "--batch-size 4");
  // Their own is no other one.
  CHECK(run_added(queries_command(scenario, folder / "out",
                                  {"--batch-size", scenario == "single-stream" ? "1" : "2"}))
            .code == 0);
}

TEST_CASE("a compliance test that needs more samples is refused before anything is measured",
          "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  json rules = read_json(kStubRules);
  for (json& tier : rules["tiers"]) {
    for (json& scenario : tier["scenarios"]) scenario["samples_in_memory"] = 3;
  }
  std::ofstream(folder / "rules.json") << rules;
  const Outcome outcome =
      run_added({"run", "--rules", (folder / "rules.json").string(), "--scenario", "offline",
                 "--audit", "TEST04", "--out", (folder / "out").string()});
  CHECK_THAT(refusal_in(outcome), is_about("--audit TEST04", {"4 samples in memory"}));
}

TEST_CASE("what answers no queries is refused by name", "[queries]") {
  const TemporaryFolder folder;
  const Outcome outcome = run_harness(
      {"run", "--workload", "null", "--scenario", "offline", "--out", folder.path().string()});
  CHECK(refusal_in(outcome).names("answers no queries"));
}
