#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "harness/base/files.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/stats/stats.hpp"
#include "harness/workload/rules.hpp"
#include "harness/workload/rules_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A home folder whose null rules are edited.
class RulesFolder {
 public:
  explicit RulesFolder(const std::function<void(json&)>& edit) {
    fs::create_directories(folder_ / "rules");
    fs::copy(home_folder() / "rules" / "rules.schema.json", folder_ / "rules");
    json rules = json::parse(read_file(home_folder() / "rules" / "null.json", 1 << 20));
    edit(rules);
    std::ofstream(folder_ / "rules" / "null.json") << rules;
  }
  Rules load() const { return load_rules(folder_.path(), "null", scenario_infos()); }
  ErrorParts refusal() const {
    ErrorParts found = refusal_of([&] { load(); });
    CHECK((found.about.empty() || found.about.ends_with("/null.json")));
    return found;
  }

 private:
  TemporaryFolder folder_;
};

Result result_with_steps(int warmup, int timed, double seconds) {
  Result result;
  result.rules.tier = "quick";
  Metric steps{"time.step", "s", Direction::kLower, "", {}, {}, {}};
  Metric loss{"loss.total", "1", Direction::kNone, "", {}, {}, {}};
  for (int i = 1; i <= warmup + timed; ++i) {
    steps.samples.push_back({i, i <= warmup, seconds, ""});
    loss.samples.push_back({i, i <= warmup, 1.0, ""});
  }
  result.metrics = {steps, loss};
  QualityReport quality;
  quality.quality = {"scripted-quality", Direction::kHigher, 1.0, "", {}};
  quality.target = 0.5;
  quality.passed = true;
  result.quality = quality;
  return result;
}

std::vector<std::string> broken(const Result& result) {
  const Rules rules = load_rules(home_folder(), "null", scenario_infos());
  std::vector<std::string> names;
  for (const Violation& violation :
       check_rules(rules, scenario_infos().at("steps"), result, json::object())) {
    names.push_back(violation.rule);
  }
  return names;
}

}  // namespace

TEST_CASE("every rules file in the project loads", "[rules]") {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(home_folder() / "rules")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".json" || name.ends_with(".schema")) continue;
    if (name.starts_with("mlperf-")) continue;  // rules of logs: log_check_test.cpp
    if (name == "gate") continue;               // margins: gate_test.cpp
    if (name == "checks") continue;             // of results: forged_kinds_test.cpp
    if (name == "suite") continue;              // of several: suite_cli_test.cpp
    const Rules rules = load_rules(home_folder(), name, scenario_infos());
    CHECK(rules.workload == name);
    CHECK(rules.sha256.size() == 64);
    CHECK(rules.tiers.count(rules.default_tier) == 1);
    ++count;
  }
  CHECK(count >= 1);
}

TEST_CASE("a rules file that breaks its schema names the path and the reason", "[rules]") {
  const auto refusal = [](const std::function<void(json&)>& edit) {
    return RulesFolder(edit).refusal();
  };
  CHECK(refusal([](json&) {}).about.empty());
  CHECK(refusal([](json& r) { r["tiers"]["quick"]["min_steps"] = -1; }).place() ==
        "/tiers/quick/min_steps");
  CHECK(refusal([](json& r) { r["closed"][0]["op"] = "eval"; }).place() == "/closed/0/op");
  // Of the whole file:
  CHECK(refusal([](json& r) { r["surprise"] = 1; }).names("'surprise'"));
  CHECK(refusal([](json& r) { r.erase("version"); }).names("version"));
  CHECK(refusal([](json& r) { r["workload"] = "other"; }).names("'other'"));
  CHECK(refusal([](json& r) { r = json::array(); }).names("rules/rules.schema.json"));
}

TEST_CASE("a tier has further scenarios, each with its own words in place of the tier's",
          "[rules]") {
  const auto further = [](const json& scenarios) {
    return RulesFolder([&](json& r) { r["tiers"]["quick"]["scenarios"] = scenarios; });
  };
  const Tier tier =
      further({{"offline", {{"batch_size", 32}, {"round", 6.0}}}}).load().tier("quick");
  CHECK(tier.in_scenario("steps").batch_size == tier.batch_size);
  const Tier& offline = tier.in_scenario("offline");
  CHECK(offline.scenario == "offline");
  CHECK(offline.batch_size == 32);
  CHECK(offline.more.at("round") == 6.0);
  CHECK(offline.min_steps == tier.min_steps);
  // What is not named is as the tier is.
  CHECK(tier.in_scenario("server").scenario == tier.scenario);

  const auto refused_at = [&](const json& scenarios) {
    return further(scenarios).refusal().place();
  };
  const std::string scenarios = "/tiers/quick/scenarios";
  CHECK(refused_at(json::array()) == scenarios);
  CHECK(refused_at({{"offline", 3}}) == scenarios + "/offline");
  CHECK(refused_at({{"offlin", json::object()}}) == scenarios + "/offlin/scenario");
  CHECK(further({{"offlin", json::object()}}).refusal().names("offline"));
  for (const char* key : {"scenario", "scenarios"}) {
    CHECK(refused_at({{"offline", {{key, json::object()}}}}) == scenarios + "/offline/" + key);
  }
  CHECK(refused_at({{"offline", {{"round", 7}}}}) == scenarios + "/offline/round");
  for (const json& seconds :
       {json{{"min_seconds", nullptr}}, json{{"min_seconds", 2}, {"max_seconds", 1}}}) {
    CHECK(refused_at({{"offline", seconds}}) == scenarios + "/offline/min_seconds");
  }
  for (const char* key : {"surprise", "latency_bound_ms"}) {
    CHECK(further({{"offline", {{key, 7}}}}).refusal().names(key));
  }
}

TEST_CASE("a scenario's quality and conditions stand in place of the tier's", "[rules]") {
  const auto quality = [](double target) {
    return json{{"metric", "scripted-quality"}, {"direction", "higher"}, {"target", target}};
  };
  const json condition = {{"rule", "own"}, {"path", "/a"}, {"op", "present"}};
  const RulesFolder folder([&](json& r) {
    json& quick = r["tiers"]["quick"];
    quick["quality"] = quality(0.6);
    quick["quality"]["highest"] = 0.8;
    quick["mlperf_equivalent"] = true;
    json& offline = quick["scenarios"]["offline"];
    offline["quality"] = quality(0.9);
    offline["closed"] = json::array({condition});
  });
  const Rules rules = folder.load();
  const Rules offline = rules.in_tier("quick", "offline");
  REQUIRE(offline.quality);
  CHECK(offline.quality->target == 0.9);
  CHECK_FALSE(offline.quality->highest);
  REQUIRE(offline.closed.size() == 1);
  CHECK(offline.closed[0].rule == "own");
  CHECK(offline.mlperf_equivalent);
  CHECK_FALSE(never_mlperfs(rules).in_tier("quick", "offline").mlperf_equivalent);
  // What says nothing of its own is as the tier is.
  for (const char* other : {"steps", "server"}) {
    const Rules as_tier = rules.in_tier("quick", other);
    REQUIRE(as_tier.quality);
    CHECK(as_tier.quality->target == 0.6);
    CHECK(as_tier.closed.size() == rules.closed.size());
    CHECK(as_tier.closed[0].rule == rules.closed[0].rule);
  }
}

TEST_CASE("a target that is said to be a share of fp32 must be that share", "[rules]") {
  const auto with_target = [](double target) {
    return RulesFolder([&](json& r) {
      r["quality"]["target"] = target;
      r["quality"]["fp32"] = {
          {"value", 0.8}, {"share", 0.9}, {"data_sha256", std::string(64, 'a')}};
    });
  };
  const Rules rules = with_target(0.72).load();
  REQUIRE(rules.quality->fp32);
  CHECK(rules.quality->fp32->share == 0.9);
  CHECK(with_target(0.7).refusal().place() == "/quality/target");
}

TEST_CASE("a constraint that could not be decided is refused with path and reason", "[rules]") {
  const auto refusal = [](const char* key, const json& constraint) {
    return RulesFolder([&](json& r) { r[key] = json::array({constraint}); }).refusal();
  };
  const auto with = [](const char* op, const json& value) {
    json constraint = {{"rule", "r"}, {"path", "/a"}, {"op", op}};
    if (!value.is_null()) constraint["value"] = value;
    return constraint;
  };
  struct Case {
    const char* op;
    json value;
    const char* needs;
  };
  for (const Case& one : std::vector<Case>{{"at_least", "x", "needs a number, not \"x\""},
                                           {"at_most", nullptr, "needs a number"},
                                           {"one_of", "x", "needs a list"},
                                           {"one_of", json::array(), "needs a list"},
                                           {"equals", nullptr, "needs a value"},
                                           {"present", 1, "needs no value"}}) {
    for (const char* key : {"closed", "valid"}) {
      CHECK_THAT(refusal(key, with(one.op, one.value)),
                 is_at(std::string("/") + key + "/0/value",
                       {std::string("op ") + one.op + " " + one.needs}));
    }
  }
  CHECK_THAT(refusal("closed", {{"rule", "r"}, {"path", "/settings/~9"}, {"op", "present"}}),
             is_at("/closed/0/path", {"'/settings/~9'"}));
  CHECK(refusal("closed", with("at_least", 1)).about.empty());
  CHECK(refusal("closed", with("one_of", {1, "x"})).about.empty());
}

TEST_CASE("a text may be held against its beginning", "[rules]") {
  const std::vector<Constraint> constraints = {
      {"weights", "/weights/0/sha256", "starts_with", "7cdf", ""}};
  const auto departures = [&](const json& sha256) {
    return find_departures(constraints, {{"weights", {{{"sha256", sha256}}}}});
  };
  CHECK(departures("7cdf4587").empty());
  CHECK(departures(7).size() == 1);
  REQUIRE(departures("07cdf").size() == 1);
  CHECK(departures("07cdf")[0].expected == R"(a text that begins with "7cdf")");
}

TEST_CASE("a rules file that is no JSON is one clear error", "[rules]") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "rules");
  fs::copy(home_folder() / "rules" / "rules.schema.json", folder / "rules");
  std::ofstream(folder / "rules" / "null.json") << "{\"workload\": ";
  for (const char* name : {"null", "missing"}) {
    CHECK(refused([&] { load_rules(folder.path(), name, scenario_infos()); }) ==
          (folder / "rules" / (std::string(name) + ".json")).string());
  }
}

TEST_CASE("unknown and unavailable tiers say what to do", "[rules]") {
  const RulesFolder folder([](json& r) { r["tiers"]["standard"]["unavailable"] = "not yet"; });
  const Rules rules = folder.load();
  CHECK(rules.tier("quick").min_steps == 20);
  CHECK(refused([&] { rules.tier("quik"); }) == "tier 'quik'");
  CHECK(refused([&] { rules.tier("standard"); }) == "tier 'standard'");
  CHECK(refusal_of([&] { rules.tier("standard"); }).why == "not yet");
}

TEST_CASE("a complete run breaks no rule", "[rules]") {
  CHECK(broken(result_with_steps(2, 20, 0.01)).empty());
}

TEST_CASE("runs that are too short, or without warm-up, are named", "[rules]") {
  CHECK(broken(result_with_steps(2, 19, 0.01)) == std::vector<std::string>{"minimum-steps"});
  CHECK(broken(result_with_steps(1, 20, 0.01)) == std::vector<std::string>{"warm-up"});
  Result standard = result_with_steps(10, 200, 0.001);
  standard.rules.tier = "standard";
  CHECK(broken(standard) == std::vector<std::string>{"minimum-seconds"});
}

TEST_CASE("losses must be there and finite", "[rules]") {
  Result result = result_with_steps(2, 20, 0.01);
  result.metrics[1].samples[5].value.reset();
  result.metrics[1].samples[5].reason = "not a number";
  CHECK(broken(result) == std::vector<std::string>{"finite-loss.total"});
  result.metrics.pop_back();
  CHECK(broken(result) == std::vector<std::string>{"metric-present"});
  // The cause is named before what follows from it.
  Result short_one = result_with_steps(2, 6, 0.01);
  short_one.metrics[1].samples[5].value.reset();
  CHECK(broken(short_one) == std::vector<std::string>{"finite-loss.total", "minimum-steps"});
}

TEST_CASE("a missed or missing quality target is a violation", "[rules]") {
  Result result = result_with_steps(2, 20, 0.01);
  result.quality->passed = false;
  CHECK(broken(result) == std::vector<std::string>{"quality-target"});
  result.quality.reset();
  CHECK(broken(result) == std::vector<std::string>{"quality-target"});
  const Rules rules = load_rules(home_folder(), "null", scenario_infos());
  CHECK(check_rules(rules, scenario_infos().at("steps"), result, json::object())[0].hint.empty());
}

TEST_CASE("the operators decide as they are named, and absent values never pass", "[rules]") {
  const json document = {{"a", {{"n", 5}, {"s", "x"}, {"none", nullptr}}}};
  const auto departs = [&](const char* path, const char* op, const json& value) {
    return !find_departures({{"r", path, op, value, ""}}, document).empty();
  };
  CHECK_FALSE(departs("/a/n", "equals", 5));
  CHECK(departs("/a/n", "equals", 6));
  CHECK_FALSE(departs("/a/n", "at_least", 5));
  CHECK(departs("/a/n", "at_least", 5.5));
  CHECK_FALSE(departs("/a/n", "at_most", 5));
  CHECK(departs("/a/n", "at_most", 4));
  CHECK_FALSE(departs("/a/s", "one_of", {"y", "x"}));
  CHECK(departs("/a/s", "one_of", {"y"}));
  CHECK(departs("/a/s", "at_least", 1));
  CHECK_FALSE(departs("/a/s", "present", nullptr));
  CHECK(departs("/a/none", "present", nullptr));
  CHECK(departs("/a/absent", "equals", 5));
  CHECK(departs("/a/n/99999999999999999999", "present", nullptr));
  const json list = {{"a", {1, 2}}};
  for (const char* path : {"/a/99999999999999999999", "/a/-", "/a/01", "/a/x"}) {
    CHECK_FALSE(find_departures({{"r", path, "present", nullptr, ""}}, list).empty());
  }
  CHECK(find_departures({{"r", "/a/n", "equals", 6, ""}}, document, "/b/").empty());
}
