// A setting, a scenario and a framework that this folder adds, from the command line to the
// verdict: nothing else had to be touched for them.
#include <catch2/catch.hpp>

#include <fstream>

#include "harness/base/files.hpp"
#include "tests/added/run_added.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kRules = HARNESS_SOURCE_DIR "/tests/added/stub-train.json";

std::string result_in(const fs::path& folder) {
  const std::vector<fs::path> files = files_ending(folder, ".json");
  REQUIRE(files.size() == 1);
  return files.front().string();
}

json measured(const fs::path& out, std::vector<std::string> options = {}) {
  std::vector<std::string> arguments = {"run", "--rules", kRules, "--json", "--out", out.string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Outcome outcome = run_added(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return json::parse(outcome.out);
}

}  // namespace

TEST_CASE("an added setting is in the help, the plan, the result and what is repeated", "[added]") {
  const TemporaryFolder folder;
  CHECK_THAT(run_added({"run", "--help"}).out, Catch::Contains(" --graph-mode MODE "));
  const auto refused = [](const char* option, const char* value) {
    return refusal_in(run_added({"run", "--rules", kRules, option, value}));
  };
  CHECK_THAT(refused("--graph-mode", "compild"), is_about("--graph-mode 'compild'", {"compiled"}));
  CHECK(refused("--prefetch", "65").about == "--prefetch 65");

  const json by_default = measured(folder.path() / "default");
  CHECK(by_default.at("/settings/effective/graph_mode"_json_pointer) == "eager");
  CHECK(by_default.at("/settings/effective/prefetch"_json_pointer) == 4);
  // Rules of one's own are a departure by themselves.
  CHECK(by_default.at("/workload/departures"_json_pointer).size() == 1);
  const json compiled = measured(folder.path() / "compiled", {"--graph-mode", "compiled"});
  CHECK(compiled.at("/settings/requested/graph_mode"_json_pointer) == "compiled");
  CHECK(compiled.at("/system/software/stub_mode"_json_pointer) == "compiled");
  CHECK(compiled.at("/workload/departures"_json_pointer).size() == 2);

  const Outcome again = run_added({"run", "--from", result_in(folder.path() / "compiled"), "--json",
                                   "--out", (folder.path() / "again").string()});
  REQUIRE(again.code == 0);
  CHECK(json::parse(again.out).at("/settings/effective"_json_pointer) ==
        compiled.at("/settings/effective"_json_pointer));
}

TEST_CASE("rules from a file name their workload, and are no rules of MLPerf", "[added]") {
  const TemporaryFolder folder;
  const json result = measured(folder.path() / "out");
  CHECK(result.at("/workload/name"_json_pointer) == "stub-train");
  CHECK(result.at("/workload/rules_file"_json_pointer) == "stub-train.json");
  CHECK(result.at("/workload/mlperf_equivalent"_json_pointer) == false);
  CHECK_THAT(refusal_in(run_added({"run", "--rules", kRules, "--workload", "null"})),
             is_about("--workload null", {"'stub-train'"}));
  const std::string none = (folder.path() / "none.json").string();
  CHECK(refusal_in(run_added({"run", "--rules", none})).about == none);

  const Outcome checked = run_added({"validate", result_in(folder.path() / "out")});
  CHECK(checked.code == 0);
  CHECK_THAT(checked.out, Catch::Contains("not judged by its rules"));
}

TEST_CASE("an added setting is what variants of an ablation differ in", "[added]") {
  const TemporaryFolder folder;
  const Outcome run =
      run_added({"ablate", "--rules", kRules, "--json", "--out", folder.path().string()});
  INFO(run.err);
  REQUIRE(run.code == 0);
  const json variants = json::parse(run.out).at("variants");
  CHECK(variants.at(0).at("settings").at("fusion") == "off");
  CHECK(variants.at(1).at("settings").at("fusion") == "on");
  CHECK(run_added({"validate", result_in(folder.path())}).code == 0);
  CHECK(run_harness({"validate", result_in(folder.path())}).code == 0);
}

TEST_CASE("what does not fit a setting is refused before anything runs", "[added]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, const std::string& other) {
    std::string rules = read_file(kRules, 1 << 20);
    rules.replace(rules.find(text), text.size(), other);
    const std::string file = (folder.path() / "rules.json").string();
    std::ofstream(file) << rules;
    ErrorParts found =
        refusal_in(run_added({"run", "--rules", file, "--out", folder.path().string()}));
    CHECK(found.about.find("rules.json") != std::string::npos);
    return found;
  };
  for (const char* value : {"abc", "", "65"}) {
    const ErrorParts found = refused(R"("4")", '"' + std::string(value) + '"');
    CHECK_THAT(found, is_at("/defaults/prefetch", {"'" + std::string(value) + "'"}));
  }
  CHECK(refused(R"("prefetch")", R"("threads")").place() == "/defaults/threads");
  CHECK(refused(R"("prefetch")", R"("prefetched")").place() == "/defaults/prefetched");
  CHECK(refused(R"("fusion")", R"("fussion")").names("'fussion'"));
  CHECK(refused(R"("1.0.0")", R"("\u001b[31m")").place() == "/version");
  CHECK(refused(R"("quick": {)", R"("q\u001bk": {)").names("tiers"));
}

TEST_CASE("an added scenario drives a workload that has never heard of it", "[added]") {
  const TemporaryFolder folder;
  const Outcome run = run_added({"run", "--workload", "null", "--set", "step-ms=0", "--scenario",
                                 "bursts", "--json", "--out", folder.path().string()});
  INFO(run.err);
  REQUIRE(run.code == 0);
  const json result = json::parse(run.out);
  CHECK(result.at("/workload/scenario"_json_pointer) == "bursts");
  CHECK(result.at("/metrics/0/tag"_json_pointer) == "time.burst");
  const std::string file = result_in(folder.path());
  CHECK(run_added({"validate", file}).code == 0);
  const Outcome again = run_added(
      {"run", "--from", file, "--json", "--dry-run", "--out", (folder.path() / "again").string()});
  CHECK(json::parse(again.out).at("/workload/scenario"_json_pointer) == "bursts");
}

TEST_CASE("what a scenario of a tier asks of the quality is asked of a run, and by validate",
          "[added]") {
  const TemporaryFolder home;
  for (const char* part : {"rules", "results"}) {
    fs::copy(home_folder() / part, home / part, fs::copy_options::recursive);
  }
  json rules = json::parse(read_file(home / "rules/null.json", 1 << 20));
  rules["tiers"]["quick"]["scenarios"]["bursts"]["quality"] = {
      {"metric", "scripted-quality"}, {"direction", "higher"}, {"target", 0.9}};
  write_file_atomically(home / "rules/null.json", rules.dump());
  const std::vector<std::string> at_home = {"HARNESS_HOME=" + home.path().string()};
  const TemporaryFolder folder;
  const auto run = [&](const std::string& quality) {
    const Outcome outcome =
        run_added({"run", "--workload", "null", "--set", "step-ms=0", "--set", "quality=" + quality,
                   "--scenario", "bursts", "--out", (folder / quality).string()},
                  at_home);
    return outcome.code;
  };
  CHECK(run("0.7") == 3);
  CHECK(run("0.95") == 0);
  const Outcome checked = run_added({"validate", result_in(folder / "0.95")}, at_home);
  INFO(checked.out);
  CHECK(checked.code == 0);
}

TEST_CASE("a scenario of epochs without a target is not taken for one that trains to it",
          "[added]") {
  const TemporaryFolder folder;
  // Of a run to a target a chosen seed would be a departure, and it would leave a state and a log.
  const json passes = measured(folder.path() / "passes", {"--tier", "passes", "--seed", "5"});
  CHECK(passes.at("/workload/scenario"_json_pointer) == "passes");
  CHECK(passes.at("/workload/departures"_json_pointer).size() == 1);
  CHECK(passes.at("/settings/effective/max_epochs"_json_pointer) == 3);
  CHECK(passes.at("/metrics/0/samples"_json_pointer).size() == 3);
  CHECK_FALSE(passes.contains("training"));
  CHECK(files_ending(folder.path() / "passes", ".log").empty());
  CHECK(run_added({"validate", result_in(folder.path() / "passes")}).code == 0);

  const json fewer = measured(folder.path() / "fewer", {"--tier", "passes", "--max-epochs", "2"});
  CHECK(fewer.at("/metrics/0/samples"_json_pointer).size() == 2);
  CHECK(fewer.at("/workload/departures"_json_pointer).size() == 2);
  CHECK(run_added({"run", "--rules", kRules, "--tier", "passes", "--steps", "5"}).code == 1);
  const json dry = measured(folder.path() / "dry", {"--tier", "passes", "--dry-run"});
  CHECK(dry.at("/workload/scenario"_json_pointer) == "steps");
}

TEST_CASE("list shows an added scenario with its keys", "[added]") {
  CHECK_THAT(run_added({"list", "bursts"}).out, HasLines({"bursts", "*several steps at a time*"}) &&
                                                    Catch::Contains("steps of a burst"));
  const json list = json::parse(run_added({"list", "bursts", "--json"}).out);
  CHECK(list.at("workloads").empty());
  REQUIRE(list.at("scenarios").size() == 1);
  CHECK(list.at("/scenarios/0/unit"_json_pointer) == "burst");
  CHECK(list.at("/scenarios/0/keys/0/default"_json_pointer) == 2);
}

TEST_CASE("an undeclared or declared setting keeps two results apart, unless chosen in turns",
          "[added]") {
  const TemporaryFolder folder;
  const std::string eager = (folder.path() / "eager").string();
  const std::string compiled = (folder.path() / "compiled").string();
  const std::string ahead = (folder.path() / "ahead").string();
  measured(eager);
  measured(compiled, {"--graph-mode", "compiled"});
  measured(ahead, {"--prefetch", "8"});
  const Outcome verdict =
      run_added({"gate", "--allow-debug", "--baseline", eager, "--candidate", compiled});
  CHECK(verdict.code == 5);
  const HasLines named({"*graph_mode*"});
  CHECK_THAT(verdict.out + verdict.err, named);
  CHECK(run_added({"gate", "--allow-debug", "--baseline", eager, "--candidate", ahead}).code == 5);
  // The plain program has not heard of the settings: what it does not know keeps apart, too.
  const Outcome plain =
      run_harness({"gate", "--allow-debug", "--baseline", eager, "--candidate", compiled});
  CHECK(plain.code == 5);
  CHECK_THAT(plain.out + plain.err, named);
  CHECK_THAT(run_added({"compare", eager, compiled}).out,
             HasLines({"  graph_mode *A eager · B compiled"}));
}
