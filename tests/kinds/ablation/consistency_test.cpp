// What the parts of an ablation say of each other, its schema, and what the rules say of it.
#include "harness/kinds/ablation/consistency.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/kinds/ablation/ablation_json.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/validate.hpp"
#include "tests/support/problem_names.hpp"
#include "tests/support/sample_ablation.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

class Fixture {
 public:
  std::filesystem::path file() const { return folder_ / "a.json"; }

  ValidationReport edited(const std::function<void(json&)>& edit, const RulesCheck& rules = {},
                          const Ablation& ablation = sample_ablation()) const {
    json document = to_json(ablation);
    edit(document);
    document["digest"] = digest_of(document);
    std::ofstream(file()) << readable_json(document);
    return validate_result_file(file(), rules);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

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
      {[](json& d) {  // of three rounds their median
         for (const int k : {3, 4}) d["variants"][3]["turns"][k]["step_seconds"][0] = 7;
       },
       "/variants/3/ratio_to_first/low", "the samples give"},
      {[](json& d) { d["variants"][3]["phases"][0]["median_seconds"] = 1; },
       "/variants/3/phases/0/median_seconds", "the samples give"},
      {[](json& d) { d["variants"][3]["phases"].erase(1); }, "/variants/3/phases", "1 phases"},
      {[](json& d) { d["variants"][2]["name"] = "pooled"; }, "/variants/2/name", "there twice"},
      {[](json& d) { d["left_out"][0]["name"] = "pooled"; }, "/left_out/0/name", "all the same"},
      {[](json& d) { d["variants"][1]["turns"].erase(7); }, "/variants/1/turns", "17 turns"},
      {[](json& d) { d["settings"]["effective"]["rounds"] = 7; }, "/variants/0/turns",
       "42 were planned"},
      {[](json& d) { d["variants"][1]["turns"][3]["warmup"] = true; }, "/variants/1/turns/3/warmup",
       "with 0 warm-up rounds"},
      {[](json& d) { d["settings"]["effective"]["warmup_steps"] = 0; },
       "/variants/1/quality/reached_at_step", "number of steps give 3"},
      {[](json& d) { d["variants"][1]["turns"][4]["order"] = 9; }, "/variants/1/turns/4/order",
       "each of 4 has a place of its own"},
      {[](json& d) { d["variants"][1]["turns"][4]["round"] = 4; }, "/variants/1/turns/4/round",
       "it is turn 2 of its cluster"},
      {[](json& d) { d["variants"][1]["turns"][4]["cluster"] = 7; }, "/variants/1/turns/4/cluster",
       "6 were planned"},
      {[](json& d) {
         for (std::size_t k = 3; k < 6; ++k) d["variants"][2]["turns"][k]["group"] = 2;
       },
       "/variants/2/turns", "only the first variant is in all"},
      {[](json& d) { d["variants"][1]["settings"] = nullptr; }, "", "does not fit the schema"},
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

TEST_CASE_METHOD(Fixture, "a peer that stands before a variant, or is judged, is no peer",
                 "[ablation]") {
  const auto refused = [&](const std::function<void(json&)>& edit, const char* path) {
    CHECK(names(edited(edit, {}, sample_ablation_with_peer()), path, ""));
  };
  refused([](json& d) { std::swap(d["variants"][3], d["variants"][4]); }, "/variants/4/name");
  refused([](json& d) { d["variants"][4]["quality"] = d["variants"][0]["quality"]; },
          "/variants/4/quality");
  refused([](json& d) { d["variants"][4]["settings"] = d["variants"][0]["settings"]; },
          "/variants/4/settings");
  refused([](json& d) { d["variants"][4]["peer"]["doubt"] = "its clock"; }, "/status/state");
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
  CHECK(names(edited([](json& d) { d["schema_version"] = "1.99.0"; }), "/schema_version",
              "newer harness"));
  // A run's members do not belong here, nor an ablation's in a run.
  CHECK(names(edited([](json& d) { d["kind"] = "run"; }), "", "unknown field"));
  std::ofstream(file()) << readable_json(to_json(sample_ablation()));
  CHECK(validate_result_file(file()).code == ExitCode::kUsage);
}

TEST_CASE_METHOD(Fixture, "rounds of one process go forwards and backwards", "[ablation]") {
  const auto refused = [&](const std::function<void(json&)>& edit, const char* path,
                           const char* reason) {
    CHECK(names(edited(edit, {}, sample_ablation_of_one_process()), path, reason));
  };
  refused([](json& d) { d["variants"][1]["turns"][4]["order"] = 3; }, "/variants/1/turns/4/order",
          "backwards");
  refused([](json& d) { d["variants"][1]["turns"].erase(7); }, "/variants/1/turns", "7 turns");
  refused([](json& d) { d["variants"][1]["turns"][4]["cluster"] = 1; },
          "/variants/1/turns/4/cluster", "without clusters");
  refused([](json& d) { d["variants"][1]["turns"][4]["round"] = 4; }, "/variants/1/turns/4/round",
          "it is turn 5");
}

TEST_CASE_METHOD(Fixture, "before turns of several steps there may be more steps than planned",
                 "[ablation]") {
  const auto reached = [&](const json& step) {
    return edited([&](json& d) {
      d["settings"]["effective"]["steps_per_turn"] = 2;
      for (json& variant : d["variants"]) {
        for (json& turn : variant["turns"]) {
          turn["step_seconds"].push_back(turn["step_seconds"][0]);
          for (json& phase : turn["phase_seconds"]) phase.push_back(phase[0]);
        }
        if (!variant["quality"].is_object()) continue;
        variant["quality"]["reached_at_step"] = step;
        if (step.is_null()) variant["quality"]["missing"]["reached_at_step"] = "lost";
      }
    });
  };
  for (const int enough : {8, 50}) CHECK(reached(enough).problems.empty());
  for (const json& wrong : {json(7), json(nullptr)}) {
    const ValidationReport report = reached(wrong);
    REQUIRE_FALSE(report.problems.empty());
    CHECK_THAT(report.problems.front().path, Catch::EndsWith("/quality/reached_at_step"));
  }
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
  const RulesCheck rules = [](const ResultKind&, const ResultCommon& result, const json&) {
    const auto* ablation = exactly<Ablation>(&result);
    return std::vector<Violation>{
        {"variant", "/variants/0/name", "another", ablation->variants[0].name, ""}};
  };
  CHECK(names(edited([](json&) {}, rules), "/variants/0/name", "expected another"));
  // What an aborted one can be held to is for the rules to say.
  const auto aborted = [](json& d) { d["status"]["state"] = "aborted"; };
  CHECK(names(edited(aborted, rules), "/variants/0/name", "expected another"));
  CHECK(edited(aborted).problems.empty());
}
