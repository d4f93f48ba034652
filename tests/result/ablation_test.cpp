// The ablation's result: figures, JSON, schema, validation, summary.
#include "harness/result/ablation.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/report/text/ablation_summary.hpp"
#include "harness/result/ablation_json.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/validate.hpp"
#include "tests/support/problem_names.hpp"
#include "tests/support/python_check.hpp"
#include "tests/support/sample_ablation.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

class Fixture {
 public:
  std::filesystem::path file() const { return folder_ / "a.json"; }

  ValidationReport edited(const std::function<void(json&)>& edit,
                          const RulesCheck& rules = {}) const {
    json document = to_json(sample_ablation());
    edit(document);
    document["digest"] = digest_of(document);
    std::ofstream(file()) << readable_json(document);
    return validate_result_file(file(), rules);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("rounds go forwards and backwards in turn", "[ablation]") {
  CHECK(turn_order(1, 3) == std::vector<std::size_t>{0, 1, 2});
  CHECK(turn_order(2, 3) == std::vector<std::size_t>{2, 1, 0});
  CHECK(turn_order(7, 1) == std::vector<std::size_t>{0});
}

TEST_CASE("ratios are of neighbours in time, whatever the machine does", "[ablation]") {
  const Ablation ablation = sample_ablation();
  const auto center = [](const Speedup& speedup) { return speedup.value->center; };
  const Variant& custom = ablation.variants[2];
  CHECK(*custom.median_seconds == Approx(0.2 * 1.25));
  CHECK(custom.to_first.to == "out-of-the-box");
  CHECK(center(custom.to_first) == Approx(5));
  CHECK(*custom.to_first.value->low == Approx(5));
  CHECK(custom.to_first.value->confidence == Approx(0.96875));
  CHECK(custom.to_previous.to == "pooled");
  CHECK(center(custom.to_previous) == Approx(2.5));
  CHECK(custom.to_reference.to == "pooled");
  CHECK(center(custom.to_reference) == Approx(2.5));
  REQUIRE(custom.phases.size() == 2);
  CHECK(custom.phases[1].name == "forward");
  CHECK(custom.phases[1].median_seconds == Approx(0.05 * 1.25));
  CHECK(center(custom.phases[1].to_reference) == Approx(2.5));

  const Variant& base = ablation.variants[3];
  CHECK(base.to_previous.to == "pooled");
  CHECK(center(base.to_previous) == Approx(1.25));
  CHECK(base.to_reference.to == "bf16-reference");
  CHECK(center(base.to_reference) == 1);

  const Variant& first = ablation.variants[0];
  CHECK(center(first.to_first) == 1);
  CHECK_FALSE(first.to_previous.value);
  CHECK_THAT(first.to_previous.reason, Catch::Contains("builds on no other"));
}

TEST_CASE("a turn of several steps counts as the median of them", "[ablation]") {
  Ablation ablation = sample_ablation();
  for (Variant& variant : ablation.variants) {
    for (Turn& turn : variant.turns) {
      const double seconds = turn.step_seconds.front();
      turn.step_seconds = {9 * seconds, seconds, seconds};  // the first finds cold caches
    }
  }
  summarise(ablation, {"", "out-of-the-box", "pooled", "pooled"});
  CHECK(ablation.variants[1].to_first.value->center == Approx(2));
}

TEST_CASE("without rounds, without a base or without time there is a reason", "[ablation]") {
  Ablation ablation = sample_ablation();
  SECTION("only warm-up") {
    for (Variant& variant : ablation.variants) variant.turns.resize(2);
    summarise(ablation, {"", "out-of-the-box", "pooled", "pooled"});
    CHECK_FALSE(ablation.variants[1].median_seconds);
    CHECK_FALSE(ablation.variants[1].to_first.value);
    CHECK_THAT(ablation.variants[1].to_first.reason, Catch::Contains("no round"));
    CHECK(ablation.variants[1].phases.empty());
  }
  SECTION("five rounds") {
    for (Variant& variant : ablation.variants) variant.turns.resize(7);
    summarise(ablation, {"", "out-of-the-box", "pooled", "pooled"});
    CHECK(ablation.variants[1].to_first.value->center == Approx(2));
    CHECK_FALSE(ablation.variants[1].to_first.value->low);
    CHECK_THAT(render_summary(ablation), Catch::Contains("2.00 [-, -]"));
    CHECK_THAT(render_summary(ablation), Catch::Contains("needs 6 timed rounds"));
  }
  SECTION("no reference under the same settings") {
    ablation.variants.pop_back();
    ablation.variants[2].settings.chosen["precision"] = "bf16";
    summarise(ablation, {"", "out-of-the-box", ""});
    CHECK_FALSE(ablation.variants[2].to_reference.value);
    CHECK_FALSE(ablation.variants[2].to_previous.value);
    CHECK_THAT(ablation.variants[2].to_previous.reason, Catch::Contains("none of the variants"));
    CHECK(ablation.variants[2].phases.at(0).to_reference.reason ==
          ablation.variants[2].to_reference.reason);
  }
  SECTION("a step of no time") {
    ablation.variants[1].turns[4].step_seconds = {0};
    summarise(ablation, {"", "out-of-the-box", "pooled", "pooled"});
    CHECK_THAT(ablation.variants[1].to_first.reason, Catch::Contains("too short"));
    CHECK_THAT(ablation.variants[2].to_previous.reason, Catch::Contains("too short"));
    CHECK(ablation.variants[2].to_first.value);
  }
}

TEST_CASE("an ablation goes to a file and back without loss", "[ablation]") {
  const TemporaryFolder folder;
  Ablation ablation = sample_ablation();
  SECTION("valid") {}
  SECTION("aborted in the warm-up") {
    for (Variant& variant : ablation.variants) {
      variant.turns.resize(1);
      variant.quality.reset();
      variant.memory = {std::nullopt, "none", "no counters"};
    }
    ablation.status = {};
    summarise(ablation, {"", "out-of-the-box", "pooled", "pooled"});
  }
  write_result_file(ablation, folder / "a.json");
  const ValidationReport report = validate_result_file(folder / "a.json");
  for (const SchemaProblem& problem : report.problems) {
    UNSCOPED_INFO(problem.path << ": " << problem.reason);
  }
  CHECK(report.problems.empty());
  REQUIRE(report.ablation);
  CHECK_FALSE(report.result);
  CHECK(to_json(*report.ablation) == to_json(ablation));
  check_with_python("ablation", folder / "a.json",
                    {"", "/identity", "/workload", "/environment/before", "/variants/1",
                     "/variants/1/settings", "/variants/1/turns/0", "/status", "/left_out/0"});
}

TEST_CASE("an ablation is no run, and says so to who wants one", "[ablation]") {
  const TemporaryFolder folder;
  write_result_file(sample_ablation(), folder / "a.json");
  CHECK_THROWS_WITH(read_result_file(folder / "a.json"), Catch::Contains("is no run"));
}

TEST_CASE_METHOD(Fixture, "parts of an ablation that disagree are named by path", "[ablation]") {
  struct Case {
    std::function<void(json&)> edit;
    const char* path;
    const char* reason;
  };
  const Case cases[] = {
      {[](json& d) { d["variants"][1]["ratio_to_first"]["median"] = 2.1; },
       "/variants/1/ratio_to_first/median", "2.1, but the samples give 2"},
      {[](json& d) { d["variants"][1]["ratio_to_first"]["low"] = 1.5; },
       "/variants/1/ratio_to_first/low", "1.5"},
      {[](json& d) { d["variants"][2]["ratio_to_previous"]["confidence"] = 0.99; },
       "/variants/2/ratio_to_previous/confidence", "0.99"},
      {[](json& d) { d["variants"][2]["ratio_to_first"]["to"] = "pooled"; },
       "/variants/2/ratio_to_first/to", "must be 'out-of-the-box'"},
      {[](json& d) { d["variants"][1]["ratio_to_previous"]["to"] = "nothing"; },
       "/variants/1/ratio_to_previous/to", "no variant that stands before it"},
      {[](json& d) {
         d["variants"][1]["ratio_to_reference"] = nullptr;
         d["variants"][1]["missing"]["ratio_to_reference"] = "lost";
       },
       "/variants/1/ratio_to_reference", "null, although"},
      {[](json& d) { d["variants"][3]["median_seconds"] = 1; }, "/variants/3/median_seconds",
       "the samples give"},
      {[](json& d) { d["variants"][3]["turns"][3]["step_seconds"][0] = 7; },
       "/variants/3/ratio_to_first/low", "the samples give"},
      {[](json& d) { d["variants"][3]["phases"][0]["median_seconds"] = 1; },
       "/variants/3/phases/0/median_seconds", "the samples give"},
      {[](json& d) { d["variants"][3]["phases"].erase(1); }, "/variants/3/phases", "1 phases"},
      {[](json& d) { d["variants"][2]["name"] = "pooled"; }, "/variants/2/name", "there twice"},
      {[](json& d) { d["left_out"][0]["name"] = "pooled"; }, "/left_out/0/name", "all the same"},
      {[](json& d) { d["variants"][1]["turns"].erase(7); }, "/variants/1/turns", "7 turns"},
      {[](json& d) { d["settings"]["effective"]["rounds"] = 7; }, "/variants/0/turns",
       "9 were planned"},
      {[](json& d) { d["variants"][1]["turns"][1]["warmup"] = false; },
       "/variants/1/turns/1/warmup", "with 2 warm-up rounds"},
      {[](json& d) { d["variants"][1]["turns"][4]["order"] = 3; }, "/variants/1/turns/4/order",
       "backwards"},
      {[](json& d) { d["variants"][1]["turns"][4]["round"] = 4; }, "/variants/1/turns/4/round",
       "it is turn 5"},
      {[](json& d) {
         d["variants"][1]["turns"][4]["step_seconds"] = {1, 1};
       },
       "/variants/1/turns/4/step_seconds", "2 steps, but a turn has 1"},
      {[](json& d) {
         d["variants"][1]["turns"][4]["phase_seconds"]["forward"] = {1, 1};
       },
       "/variants/1/turns/4/phase_seconds/forward", "2 numbers for 1 steps"},
      {[](json& d) { d["variants"][1]["quality_passed"] = false; }, "/variants/1/quality_passed",
       "quality/passed"},
      {[](json& d) { d["variants"][1]["quality"]["value"] = 0.1; }, "/variants/1/quality/passed",
       "give false"},
      {[](json& d) {
         d["variants"][1]["quality"]["value"] = 0.1;
         d["variants"][1]["quality"]["passed"] = false;
         d["variants"][1]["quality_passed"] = false;
       },
       "/status/state", "'pooled' did not reach the quality"},
      {[](json& d) { d["variants"][0].erase("missing"); }, "/variants/0/ratio_to_previous",
       "without a reason"},
      {[](json& d) { d["status"]["mistrusted"] = true; }, "/status/mistrusted", "without a reason"},
  };
  for (const Case& one : cases) {
    const ValidationReport report = edited(one.edit);
    INFO(one.path);
    CHECK(names(report, one.path, one.reason));
    CHECK(report.code == ExitCode::kInvalid);
  }
}

TEST_CASE_METHOD(Fixture, "an ablation's schema, version and digest are checked", "[ablation]") {
  CHECK(edited([](json&) {}).code == ExitCode::kOk);
  const auto schema = edited([](json& d) {
    d["variants"][0]["colour"] = "red";
    d["variants"][1]["ratio_to_first"]["median"] = 0;
    d["system"]["cpu"]["cores"] = "two";
  });
  CHECK(names(schema, "/variants/0", "unknown field 'colour'"));
  CHECK(names(schema, "/variants/1/ratio_to_first/median", "0"));
  CHECK(names(schema, "/system/cpu/cores", "two"));
  CHECK(names(edited([](json& d) { d["variants"] = json::array(); }), "/variants", ""));
  CHECK(names(edited([](json& d) { d["schema_version"] = "1.3.0"; }), "/schema_version",
              "newer harness"));
  // A run's members do not belong here, nor an ablation's in a run.
  CHECK(names(edited([](json& d) { d["kind"] = "run"; }), "", "unknown field"));
  std::ofstream(file()) << readable_json(to_json(sample_ablation()));
  CHECK(validate_result_file(file()).code == ExitCode::kUsage);
}

TEST_CASE_METHOD(Fixture, "an ablation that owns up to a missed quality is sound, but invalid",
                 "[ablation]") {
  const ValidationReport report = edited([](json& d) {
    d["variants"][1]["quality"]["value"] = 0.1;
    d["variants"][1]["quality"]["passed"] = false;
    d["variants"][1]["quality"]["reached_at_step"] = nullptr;
    d["variants"][1]["quality"]["missing"]["reached_at_step"] = "not reached";
    d["variants"][1]["quality_passed"] = false;
    d["status"]["state"] = "invalid";
    d["status"]["violations"] = {{{"rule", "quality-target"},
                                  {"path", "/variants/1/quality/value"},
                                  {"expected", "0.5"},
                                  {"actual", "0.1"},
                                  {"hint", ""}}};
  });
  CHECK(report.problems.empty());
  CHECK(report.summary == "sound file of an invalid run: 1 violation");
  CHECK(report.code == ExitCode::kInvalid);
}

TEST_CASE_METHOD(Fixture, "the rules are asked again of an ablation", "[ablation]") {
  RulesCheck rules;
  rules.ablation = [](const Ablation& ablation, const json&) {
    return std::vector<Violation>{
        {"variant", "/variants/0/name", "another", ablation.variants[0].name, ""}};
  };
  CHECK(names(edited([](json&) {}, rules), "/variants/0/name", "expected another"));
  // What an aborted one can be held to is for the rules to say.
  const auto aborted = [](json& d) { d["status"]["state"] = "aborted"; };
  CHECK(names(edited(aborted, rules), "/variants/0/name", "expected another"));
  CHECK(edited(aborted).problems.empty());
}

TEST_CASE("the summary shows each variant in one line of at most 100 columns", "[ablation]") {
  const std::string text = render_summary(sample_ablation());
  INFO(text);
  CHECK_THAT(text,
             Catch::Contains("nothing          250.00 ms  5.00 [5.00, 5.00] 2.50 [2.50, 2.50]"));
  CHECK_THAT(text, Catch::Contains("out-of-the-box     1.250 s  - "));
  CHECK_THAT(text, Catch::Contains("bf16-reference: on pooled"));
  CHECK_THAT(text, Catch::Contains("left out elsewhere: made for no machine"));
  CHECK_THAT(text, Catch::Contains("backward"));
  CHECK_THAT(text, Catch::EndsWith("Result not verified by MLCommons Association.\n"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // UTF-8: one a character
    });
    CHECK(columns <= 100);
  }
}

TEST_CASE("many phases are summed up by their middle and their ends", "[ablation]") {
  Ablation ablation = sample_ablation();
  for (Variant& variant : ablation.variants) {
    const bool custom = variant.name == "nothing";
    for (Turn& turn : variant.turns) {
      turn.phase_seconds.clear();
      for (int i = 0; i < 8; ++i) {
        const double seconds = i == 7 && custom ? 0.25 : custom ? 0.5 : 1.0;
        turn.phase_seconds["part" + std::to_string(i)] = {seconds};
      }
    }
  }
  summarise(ablation, {"", "out-of-the-box", "pooled", "pooled"});
  // 2 seven times and 4 once: 2^(9/8).
  CHECK_THAT(render_summary(ablation),
             Catch::Contains("geometric mean 2.18 of 8, least 2.00 (part0), most 4.00 (part7)"));
}
