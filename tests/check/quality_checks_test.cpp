// What is derived again of the checks behind a quality, by the precision that it was measured in.
#include "harness/check/quality_checks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "harness/base/quality.hpp"
#include "harness/check/recheck.hpp"
#include "harness/kinds/run.hpp"
#include "harness/result/result_json.hpp"
#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// A run of `detect-full` in int8, with the golden data's values as the program compares them.
Result run_in_int8() {
  Result run = sample_result();
  run.rules.workload = "detect-full";
  run.rules.file = "rules/detect-full.json";
  run.rules.version = "0.0.0";  // not judged by its rules: here the checks alone count
  run.settings.effective["precision"] = "int8";
  run.quality->quality = share_of_tolerance(
      "golden-parity",
      {{"cls_logits.l2", "11704.0489", "11704.0489", 0, 0x1p-6, true},
       {"cls_logits.samples", "-4.34320985", "-4.34320985", 0, 0x1p-4, true},
       {"bbox_regression.l2", "59.7053224", "59.7053224", 0, 0x1p-6, true},
       {"bbox_regression.samples", "0.0613529933", "0.0613529933", 0, 0x1p-4, true},
       {"anchors_per_image", "12276", "12276", 0, 0, true},
       {"anchors.sum", "5999616", "5999616", 0, 0, true},
       {"anchors.l2", "33083.1752", "33083.1752", 0, 1e-12, true},
       {"anchors.samples", "206", "206", 0, 0, true}});
  return run;
}

struct Found {
  std::vector<std::string> places{};  ///< of checks that are not what the rules ask for
  bool noted = false;                 ///< that they are not judged
};

Found found_in(const std::function<void(Result& run, std::vector<Check>& checks)>& edit) {
  Result run = run_in_int8();
  edit(run, run.quality->quality.checks);
  std::vector<std::string> notes;
  Found found;
  for (const Violation& violation : recheck(*run_kind(), run, to_json(run), notes)) {
    if (violation.rule == "checks") found.places.push_back(violation.path);
  }
  found.noted = std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("checks are not judged") != std::string::npos;
  });
  return found;
}

}  // namespace

TEST_CASE("what is checked of the golden data in int8 is derived again", "[recheck]") {
  using Places = std::vector<std::string>;
  using Checks = std::vector<Check>;
  const Found honest = found_in([](Result&, Checks&) {});
  CHECK(honest.places.empty());
  CHECK_FALSE(honest.noted);
  CHECK(found_in([](Result&, Checks& checks) { checks[0].tolerance = 1e9; }).places ==
        Places{"/quality/checks/0/tolerance"});
  CHECK(found_in([](Result&, Checks& checks) { checks[2].actual = "60.5"; }).places ==
        Places{"/quality/checks/2/error"});
  CHECK(found_in([](Result&, Checks& checks) { checks.erase(checks.begin()); }).places ==
        Places{"/quality/checks"});
  // Only the golden data's own hash tells.
  CHECK(found_in([](Result&, Checks& checks) {
          checks[0].expected = "1";
          checks[0].actual = "1";
        }).places == Places{"/quality/checks"});
  // Detections are not compared in int8.
  CHECK(found_in([](Result&, Checks& checks) {
          checks.push_back({"detections[0].count", "300", "300", 0, 0, true});
        }).places == Places{"/quality/checks/8/name"});
  // In fp32 they are, and more closely.
  CHECK_FALSE(found_in([](Result& run, Checks&) {
                run.settings.effective["precision"] = "fp32";
              }).places.empty());
}

TEST_CASE("of a precision that no rule knows it is said that nothing is judged", "[recheck]") {
  const Found unknown = found_in([](Result& run, std::vector<Check>& checks) {
    run.settings.effective["precision"] = "int4";
    checks[0].tolerance = 1e9;
  });
  CHECK(unknown.places.empty());
  CHECK(unknown.noted);
}
