// Ablations and profiles that somebody altered, and checks of the golden data.
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/result/profile_json.hpp"
#include "tests/support/forged.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

json honest_ablation() { return measured({"ablate", "--workload", "null", "--set", "step-ms=1"}); }

json honest_profile() { return measured({"profile", "--workload", "null"}); }

/// A file of results/ whose name ends so.
json shared_result(const std::string& ending) {
  const auto folder = home_folder() / "results" / "amd-epyc-zen4-2-cores";
  for (const auto& file : files_ending(folder, ".json")) {
    if (file.string().ends_with(ending)) return json::parse(read_file(file, 64 << 20));
  }
  FAIL("no file " << ending);
  return {};
}

/// The check of that name in a variant's quality.
json& check_of(json& document, std::size_t variant, const std::string& name) {
  for (json& check : document["variants"][variant]["quality"]["checks"]) {
    if (check["name"] == name) return check;
  }
  FAIL("no check " << name);
  return document;
}

constexpr std::size_t kBf16 = 6;  // the variant of that precision

}  // namespace

TEST_CASE("forged ablations are refused, each at the field that does not fit", "[forged]") {
  const json honest = honest_ablation();
  refuse_all(
      honest,
      {
          {"a step shorter than its phases",
           [](json& d) { d["variants"][1]["turns"][3]["step_seconds"][0] = 1e-6; },
           "/variants/1/turns/3/step_seconds/0"},
          {"a phase of less than no time",
           [](json& d) { d["variants"][1]["turns"][3]["phase_seconds"]["work"][0] = -1; },
           "/variants/1/turns/3/phase_seconds/work/0"},
          {"steps that take longer than the run",
           [](json& d) {
             for (json& variant : d["variants"]) variant["turns"][0]["step_seconds"][0] = 10;
           },
           "/identity/ended_at"},
          {"a ratio", [](json& d) { d["variants"][1]["ratio_to_first"]["median"] = 9; },
           "/variants/1/ratio_to_first/median"},
          {"a median", [](json& d) { d["variants"][1]["median_seconds"] = 1e-4; },
           "/variants/1/median_seconds"},
          {"a quality that was met earlier",
           [](json& d) { d["variants"][1]["quality"]["reached_at_step"] = 1; },
           "/variants/1/quality/reached_at_step"},
          {"a start ahead of the clock",
           [](json& d) {
             d["identity"]["started_at"] = "2199-01-01T00:00:00.000Z";
             d["identity"]["ended_at"] = "2199-01-01T00:01:00.000Z";
           },
           "/identity/started_at"},
          {"another seed than was used", [](json& d) { d["seeds"]["run"] = 7; }, "/seeds/run"},
      });
  refuse_changes(honest, {"/variants/*/median_seconds", "/variants/*/ratio_to_first/median",
                          "/variants/*/ratio_to_first/low", "/variants/*/ratio_to_previous/median",
                          "/variants/*/ratio_to_previous/high",
                          "/variants/*/ratio_to_reference/median", "/variants/*/quality_passed",
                          "/variants/*/phases/*/median_seconds", "/variants/*/turns/*/order",
                          "/variants/*/turns/*/round", "/variants/*/turns/*/warmup"});
}

TEST_CASE("forged checks of the golden data are refused", "[forged]") {
  refuse_all(
      shared_result("-retinanet-train-a48c7c65.json"),
      {
          {"a value far from the golden one, with a small error",
           [](json& d) { check_of(d, 3, "classification_loss")["actual"] = "0.9"; },
           "/variants/3/quality/checks/0/error"},
          {"a logit far from the golden one",
           [](json& d) { check_of(d, 3, "cls_logits.samples")["actual"] = "4.4"; },
           "/variants/3/quality/checks/3/error"},
          {"a count that differs and an error of nothing",
           [](json& d) { check_of(d, 3, "matched[0].foreground")["actual"] = "63"; },
           "/variants/3/quality/checks/10/error"},
          {"a gradient in bf16 far from the golden one",
           [](json& d) { d["variants"][kBf16]["quality"]["checks"][19]["actual"] = "5.1"; },
           "/variants/6/quality/checks/19/error"},
          {"a gradient's sample larger than the whole gradient",
           [](json& d) { d["variants"][3]["quality"]["checks"][20]["actual"] = "5.1"; },
           "/variants/3/quality/checks/20/error"},
          {"a box elsewhere",
           [](json& d) {
             check_of(d, 3, "detections[0].first[0].box")["actual"] =
                 "label 6 [0, 0, 9, 9] score 0.129695922";
           },
           "/variants/3/quality/checks/179/error"},
          {"something that cannot be compared",
           [](json& d) { check_of(d, 3, "box_loss")["actual"] = "fine"; },
           "/variants/3/quality/checks/1/actual"},
          {"a tolerance that is not the rules'",
           [](json& d) { check_of(d, 3, "classification_loss")["tolerance"] = 0.1; },
           "/variants/3/quality/checks/0/tolerance"},
          {"bf16's tolerance in fp32",
           [](json& d) {
             d["variants"][3]["quality"]["checks"][19]["tolerance"] =
                 d["variants"][kBf16]["quality"]["checks"][19]["tolerance"];
           },
           "/variants/3/quality/checks/19/tolerance"},
          {"a check left out", [](json& d) { d["variants"][3]["quality"]["checks"].erase(1); },
           "/variants/3/quality/checks"},
          {"a check twice in place of another",
           [](json& d) {
             json& checks = d["variants"][3]["quality"]["checks"];
             checks[1] = checks[0];
           },
           "/variants/3/quality/checks/1/name"},
          {"a check of something else",
           [](json& d) { d["variants"][3]["quality"]["checks"][1]["name"] = "weather"; },
           "/variants/3/quality/checks/1/name"},
          {"another expectation than the golden data's",
           [](json& d) {
             json& check = check_of(d, 3, "matched[0].foreground");
             check["expected"] = check["actual"] = "99";
           },
           "/variants/3/quality/checks"},
          {"a value that is not the largest share of its checks",
           [](json& d) { d["variants"][3]["quality"]["value"] = 0.01; },
           "/variants/3/quality/value"},
          {"an error below 0", [](json& d) { check_of(d, 3, "box_loss")["error"] = -1e-9; },
           "/variants/3/quality/checks/1/error"},
          {"a check that passed with an error over its tolerance",
           [](json& d) { check_of(d, 3, "box_loss")["error"] = 1; },
           "/variants/3/quality/checks/1/passed"},
      });
}

TEST_CASE("forged checks of single operators are refused", "[forged]") {
  refuse_all(
      shared_result("-conv-blocks-8aa73e52.json"),
      {
          {"norms that differ by more than the error",
           [](json& d) { d["variants"][2]["quality"]["checks"][0]["actual"] = "2300.0"; },
           "/variants/2/quality/checks/0/error"},
          {"a wider tolerance",
           [](json& d) {
             for (json& check : d["variants"][2]["quality"]["checks"]) check["tolerance"] = 1e-4;
           },
           "/variants/2/quality/checks/0/tolerance"},
          {"a block left out", [](json& d) { d["variants"][2]["quality"]["checks"].erase(0); },
           "/variants/2/quality/checks"},
      });
  refuse_all(shared_result("-focal-loss-80f52693.json"),
             {{"a check of something else",
               [](json& d) { d["variants"][1]["quality"]["checks"][0]["name"] = "x"; },
               "/variants/1/quality/checks/0/name"}});
}

TEST_CASE("a profile keeps what its steps left to the system; an older one has nothing of it",
          "[forged]") {
  json document = honest_profile();
  document["schema_version"] = "1.4.0";
  CHECK(judged(document).report.problems.empty());
  CHECK_FALSE(profile_from_json(document).tables.system);
  json& part = document["profile"];
  part["system"] = {{"seconds", 0.0005}, {"page_faults", 5}};
  part["operators"][0]["page_faults"] = 7;
  part["operators"][0]["system_seconds"] = 0.0004;
  document["schema_version"] = "1.5.0";
  CHECK(judged(document).report.problems.empty());
  const json again = to_json(profile_from_json(document));
  CHECK(again["profile"]["system"] == part["system"]);
  CHECK(again["profile"]["operators"] == part["operators"]);
}

TEST_CASE("forged profiles are refused, each at the field that does not fit", "[forged]") {
  const json honest = honest_profile();
  refuse_all(
      honest,
      {
          {"a recorded step of no time", [](json& d) { rewrite(d, "time.recorded_step", 0, 0); },
           "/metrics/{time.recorded_step}/samples/0/value"},
          {"a recording shorter than its steps",
           [](json& d) {
             json& profile = d["profile"];
             const double less = profile["between_seconds"].get<double>() - 0.5;
             profile["between_seconds"] = less;
             profile["step_seconds"] = 0;
           },
           "/profile/step_seconds"},
          {"more time in primitives than they took",
           [](json& d) { d["profile"]["operators"][0]["primitive_seconds"] = 1e-6; },
           "/profile/operators/0/primitive_seconds"},
          {"reorders that no primitive did",
           [](json& d) { d["profile"]["operators"][0]["reorder_seconds"] = 0; },
           "/profile/operators/0/reorder_seconds"},
          {"half a call", [](json& d) { d["profile"]["operators"][0]["calls"] = 0.5; },
           "/profile/operators/0/calls"},
          {"a call that never was", [](json& d) { d["profile"]["primitives"][0]["calls"] = 0; },
           "/profile/primitives/0/calls"},
          {"a median that the calls cannot have",
           [](json& d) { d["profile"]["primitives"][0]["median_milliseconds"] = 1e3; },
           "/profile/primitives/0/median_milliseconds"},
          {"fewer FLOPs than the primitives have",
           [](json& d) { d["profile"]["primitives"][0]["flops"] = 1e9; },
           "/profile/operators/0/flops"},
          {"operators in another order",
           [](json& d) {
             json& operators = d["profile"]["operators"];
             operators.push_back(operators[0]);
             operators[1]["self_seconds"] = 1;
           },
           "/profile/operators/1"},
          {"memory that goes back in time",
           [](json& d) {
             d["profile"]["memory"] = {{0.5, 1}, {0.25, 1}};
           },
           "/profile/memory/1/0"},
          {"more steps than were recorded", [](json& d) { d["profile"]["steps"] = 4; },
           "/profile/steps"},
          {"another overhead", [](json& d) { d["profile"]["overhead"]["center"] = 1; },
           "/profile/overhead/center"},
          {"seconds in the system in a step that counted none",
           [](json& d) { d["profile"]["operators"][0]["system_seconds"] = 0.001; },
           "/profile/system"},
          {"longer in the system than the operator took",
           [](json& d) {
             d["profile"]["operators"][0]["system_seconds"] = 60;
             d["profile"]["system"] = {{"seconds", 60}, {"page_faults", 3}};
           },
           "/profile/operators/0/system_seconds"},
          {"longer in the system than the step was there",
           [](json& d) {
             d["profile"]["operators"][0]["system_seconds"] = 0.002;
             d["profile"]["system"] = {{"seconds", 0.001}, {"page_faults", 3}};
           },
           "/profile/system/seconds"},
          {"page faults so few that each takes for ever",
           [](json& d) {
             d["profile"]["system"] = {{"seconds", 0.001}, {"page_faults", 1e-300}};
           },
           "/profile/system/page_faults"},
          {"longer in the system than the step took",
           [](json& d) {
             d["profile"]["system"] = {{"seconds", 60}, {"page_faults", 3}};
           },
           "/profile/system/seconds"},
          {"less than no time in the system",
           [](json& d) {
             d["profile"]["system"] = {{"seconds", -1}, {"page_faults", 3}};
           },
           "/profile/system/seconds"},
          {"a share of time that is not the owners'",
           [](json& d) { d["profile"]["attributed_share"] = 0.5; }, "/profile/attributed_share"},
      });
  refuse_changes(honest,
                 {"/profile/steps", "/profile/overhead/center",
                  "/profile/operators/*/primitive_seconds", "/profile/operators/*/reorder_seconds",
                  "/metrics/*/summary/median/center", "/metrics/*/summary/max"});
}
