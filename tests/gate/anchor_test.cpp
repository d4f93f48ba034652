// Which anchors are of use, and why the others are not.
#include "harness/gate/anchor.hpp"

#include <catch2/catch.hpp>

#include "tests/support/gate_sides.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

GateRules rules_with_anchor() {
  GateRules rules = rules_for_steps();
  rules.lockstep.anchor_metrics = {{"time.unit", 0.03},
                                   {"memory.peak", 0.05, GateGroup::kMemory, true, true}};
  return rules;
}

std::optional<AnchorTrouble> trouble(const Edit& edit) {
  return anchor_trouble(of_campaign("anchor", 2, 0.5, edit), of_campaign("candidate", 2, 0.5),
                        rules_with_anchor());
}

}  // namespace

TEST_CASE("an anchor that can be compared is no trouble", "[gate][anchor]") {
  CHECK_FALSE(trouble({}));
  CHECK_FALSE(trouble([](Result& run) { run.kernels["focal-loss"] = "custom"; }));
  // It is held against in speed alone, and may have passed an older exam.
  CHECK_FALSE(trouble([](Result& run) { run.quality->foreign_checks = "older golden data"; }));
}

TEST_CASE("what is wrong with an anchor is said, and thrown at nobody", "[gate][anchor]") {
  struct Case {
    const char* why;
    Edit edit;
  };
  for (const Case& one : {
           Case{"a debug build", [](Result& run) { run.system["build"]["type"] = "Debug"; }},
           Case{"broke the rule minimum-steps",
                [](Result& run) {
                  run.status.state = RunState::kInvalid;
                  run.status.violations = {{"minimum-steps", "", "", "", ""}};
                }},
           Case{"missed its quality target",
                [](Result& run) {
                  run.status.state = RunState::kInvalid;
                  run.status.violations = {{"quality-target", "/quality/value", "", "", ""}};
                }},
           Case{"was stopped", [](Result& run) { run.status.state = RunState::kAborted; }},
           Case{"no metric memory.peak", [](Result& run) { run.memory.peak_bytes = 1e9; }},
           Case{"batch_size differs",
                [](Result& run) { run.settings.effective["batch_size"] = 2; }},
       }) {
    CAPTURE(one.why);
    const std::optional<AnchorTrouble> found = trouble(one.edit);
    REQUIRE(found);
    CHECK_THAT(found->why, Catch::Contains(one.why));
    CHECK_FALSE(found->rules_alone);
  }
  const std::optional<AnchorTrouble> none =
      anchor_trouble({"anchor", {}}, of_campaign("candidate", 2, 0.5), rules_with_anchor());
  REQUIRE(none);
  CHECK_THAT(none->why, Catch::Contains("holds no result"));
}

TEST_CASE("an anchor with other rules may run under ours", "[gate][anchor]") {
  const std::optional<AnchorTrouble> rules =
      trouble([](Result& run) { run.rules.sha256[0] = 'b'; });
  REQUIRE(rules);
  CHECK(rules->rules_alone);
  const std::optional<AnchorTrouble> more = trouble([](Result& run) {
    run.rules.sha256[0] = 'b';
    run.system["fingerprint"] = "other";
  });
  REQUIRE(more);
  CHECK_FALSE(more->rules_alone);
}
