// End to end with a scenario that harness/ does not know (tests/added/scenario.cpp): planned by its
// rules, measured, written, validated, compared and gated by its own metric.
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "harness/base/files.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/compare/comparison.hpp"
#include "harness/gate/gate.hpp"
#include "harness/measure/measure.hpp"
#include "harness/result/result_file.hpp"
#include "harness/workload/rules_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kTier = R"({"summary": "bursts of three steps", "scenario": "bursts",
  "steps_per_burst": 3, "warmup_steps": 1, "min_steps": 8, "seed": 7})";

/// The project's folder as far as results need it, with a tier of bursts in the rules of `null`.
class Home {
 public:
  explicit Home(const std::function<void(json& rules)>& edit = [](json&) {}) {
    const fs::path before = home_folder();
    fs::copy(before / "rules", folder_ / "rules", fs::copy_options::recursive);
    fs::create_directories(folder_ / "results");
    fs::copy(before / "results" / "schema", folder_ / "results" / "schema");
    json rules = json::parse(read_file(before / "rules" / "null.json", 1 << 20));
    rules["tiers"]["bursts"] = json::parse(kTier);
    rules["finite_metrics"].push_back("time.burst");
    edit(rules);
    std::ofstream(folder_ / "rules" / "null.json") << rules;
    ::setenv("HARNESS_HOME", folder_.path().c_str(), 1);
  }
  ~Home() { ::unsetenv("HARNESS_HOME"); }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  fs::path path() const { return folder_.path(); }
  ErrorParts refusal() const {
    return refusal_of([&] { load_rules(path(), "null", scenario_infos()); });
  }

 private:
  TemporaryFolder folder_;
};

RunRequest bursts() {
  RunRequest request;
  request["workload"] = "null";
  request["tier"] = "bursts";
  request["set"] = {"step-ms=0.1"};
  return request;
}

Result measured(const RunRequest& request, const fs::path& out, const std::string& stem) {
  RunPlan plan = make_plan(request, home_folder());
  MeasureTask task;
  task.position = {new_uuid(), 1, 1};
  task.out = out;
  task.stem = stem;
  task.command_line = {"harness", "run"};
  Result result = measure(plan, task);
  write_result_file(result, out / (stem + ".json"));
  return result;
}

std::vector<std::string> broken(const Result& result) {
  std::vector<std::string> rules;
  for (const Violation& violation : result.status.violations) rules.push_back(violation.rule);
  return rules;
}

}  // namespace

TEST_CASE("a scenario of one's own goes from its rules to a verdict", "[scenario]") {
  const Home home;
  const TemporaryFolder out;
  const Result first = measured(bursts(), out.path(), "first");
  CHECK(broken(first).empty());  // time.step, which the rules ask for elsewhere, is not missed
  CHECK(first.rules.division == "closed");
  CHECK(find_metric(first.metrics, "time.step") == nullptr);
  REQUIRE(find_metric(first.metrics, "time.burst") != nullptr);
  CHECK(find_metric(first.metrics, "time.burst")->samples.size() == 9);

  const CheckedFile checked = check_file((out / "first.json").string(), true);
  CAPTURE(checked.report.summary, checked.notes);
  CHECK(checked.report.code == ExitCode::kOk);
  CHECK(checked.document["workload"]["scenario"] == "bursts");
  CHECK(checked.document["seeds"]["arrivals"] == first.seeds.more.at("arrivals"));
  CHECK(checked.document["metrics"][1]["unit"] == "bursts/s");
  CHECK(read_result_file(out / "first.json").seeds.more == first.seeds.more);

  const Result second = measured(bursts(), out.path(), "second");
  CHECK(second.seeds.more == first.seeds.more);
  const Comparison comparison = compare_sides({{"a", {first}}, {"b", {second}}}, {});
  CHECK(comparison.differences.empty());
  GateRules rules = load_gate_rules(home.path());
  rules.allow_debug = true;  // as the tests are built
  const GateReport report = gate_results({"a", {first}}, {"b", {second}}, rules);
  REQUIRE_FALSE(report.rows.empty());
  CHECK(report.rows.front().tag == "time.burst");
}

TEST_CASE("lengths are counted in the scenario's own metric, up to its own limit", "[scenario]") {
  const TemporaryFolder out;
  {
    const Home home([](json& rules) { rules["tiers"]["bursts"]["max_seconds"] = 1; });
    RunPlan plan = make_plan(bursts(), home.path());
    Result result = measured(bursts(), out.path(), "whole");
    const auto judged = [&] {
      std::vector<std::string> names;
      for (const Violation& violation :
           check_rules(plan.rules, plan.scenario->info(), result, json::object())) {
        names.push_back(violation.rule);
      }
      return names;
    };
    Metric& metric = result.metrics.front();
    metric.samples.pop_back();
    CHECK(judged() == std::vector<std::string>{"minimum-bursts"});
    metric.tag = "time.other";
    CHECK(judged() == std::vector<std::string>{"metric-present", "bursts-timed"});
  }
  const Home home;
  RunRequest longer = bursts();
  longer["steps"] = 41;
  CHECK(refused([&] { make_plan(longer, home.path()); }) == "--steps 41");
  longer["steps"] = 40;
  CHECK(make_plan(longer, home.path()).tier.min_steps == 40);
}

TEST_CASE("keys of a scenario are checked, and belong to its tiers alone", "[scenario]") {
  const auto refusal = [](const char* tier, const char* key, const json& value) {
    return Home([&](json& rules) { rules["tiers"][tier][key] = value; }).refusal();
  };
  CHECK(Home().refusal().about.empty());
  for (const json& value : {json(0), json(1.5), json("3")}) {
    CHECK_THAT(refusal("bursts", "steps_per_burst", value),
               is_at("/tiers/bursts/steps_per_burst", {value.dump(), "1 to 1000"}));
  }
  CHECK(refusal("bursts", "steps_per_brust", 3).names("steps_per_brust"));
  CHECK(refusal("quick", "steps_per_burst", 3).names("rules/rules.schema.json"));
  CHECK_THAT(refusal("bursts", "max_epochs", 3), is_at("/tiers/bursts", {"'max_epochs'"}));
  CHECK_THAT(refusal("quick", "scenario", "epochs"), is_at("/tiers/quick", {"needs 'max_epochs'"}));
  CHECK_THAT(refusal("quick", "scenario", "burst"), is_at("/tiers/quick/scenario", {"bursts"}));
  const Home unknown([](json& rules) { rules["finite_metrics"].push_back("time.query"); });
  CHECK_THAT(unknown.refusal(), is_at("/finite_metrics", {"time.query"}));
}

TEST_CASE("a scenario that is not the tier's is a departure, or refused", "[scenario]") {
  const Home home;
  RunRequest request;
  request["workload"] = "null";
  request["scenario"] = "bursts";
  request["tier"] = "quick";
  const RunPlan plan = make_plan(request, home.path());
  CHECK(plan.tier.more.at("steps_per_burst") == 2);
  REQUIRE(plan.departures.size() == 1);
  CHECK(plan.departures[0].path == "/workload/scenario");
  CHECK(plan.departures[0].expected == "\"steps\"");

  const TemporaryFolder out;
  request["set"] = {"step-ms=0.1"};
  CHECK(measured(request, out.path(), "open").rules.division == "open");
  CHECK(check_file((out / "open.json").string()).report.code == ExitCode::kOk);

  request["tier"] = "training";
  const auto refusal = [&] { return refusal_of([&] { make_plan(request, home.path()); }); };
  CHECK_THAT(refusal(), is_about("--scenario bursts", {"'training'"}));
  request["tier"] = "bursts";
  request["scenario"] = "steps";
  CHECK_THAT(refusal(), is_about("--scenario steps", {"'steps_per_burst'"}));
  request["scenario"] = "epoch";
  CHECK(refusal().about == "scenario 'epoch'");
}
