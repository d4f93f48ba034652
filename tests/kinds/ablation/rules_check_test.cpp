#include "harness/kinds/ablation/rules_check.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/workload/rules_file.hpp"
#include "tests/support/sample_ablation.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

TEST_CASE("a peer whose times are doubtful breaks the rules", "[ablation-plan]") {
  const Rules rules = load_rules(home_folder(), "null", scenario_infos());
  Ablation ablation = sample_ablation_with_peer();
  CHECK(check_rules(rules, ablation, json::object()).empty());
  ablation.variants[4].peer->doubt = "says 1 s, which takes 2 s by our clock";
  const std::vector<Violation> violations = check_rules(rules, ablation, json::object());
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].rule == "peer-clock");
  CHECK(violations[0].path == "/variants/4/peer");
}

TEST_CASE("one process had to warm up in rounds", "[ablation-plan]") {
  const Rules rules = load_rules(home_folder(), "null", scenario_infos());
  Ablation ablation = sample_ablation_of_one_process();
  CHECK(check_rules(rules, ablation, json::object()).empty());
  ablation.settings.effective["warmup_rounds"] = 1;
  const std::vector<Violation> violations = check_rules(rules, ablation, json::object());
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].path == "/settings/effective/warmup_rounds");
}

TEST_CASE("an ablation is held against the ladder, the quality and the constraints",
          "[ablation-plan]") {
  Rules rules = load_rules(home_folder(), "null", scenario_infos());
  Ablation ablation = sample_ablation();
  const auto broken = [&] {
    json document = {{"hyperparameters", {{"classes", "3"}}}};
    std::string text;
    for (const Violation& violation : check_rules(rules, ablation, document)) {
      text += violation.rule + " " + violation.path + "; ";
    }
    return text;
  };
  CHECK(broken().empty());
  ablation.variants[1].settings.chosen["allocator"] = "system";
  CHECK(broken() == "variant-settings /variants/1/settings; ");
  ablation.variants[1].settings.chosen["allocator"] = "pooled";
  std::swap(ablation.variants[2], ablation.variants[1]);
  CHECK(broken() ==
        "variant-base /variants/1/ratio_to_previous/to; variant-order /variants/2/name; ");
  std::swap(ablation.variants[2], ablation.variants[1]);
  ablation.variants[3].name = "other";
  CHECK(broken() == "variant /variants/3/name; ");
  ablation.variants[3].name = "bf16-reference";
  ablation.variants[2].to_previous.to = "out-of-the-box";
  CHECK(broken() == "variant-base /variants/2/ratio_to_previous/to; ");
  ablation.variants[2].to_previous.to = "pooled";
  ablation.variants[3].quality->quality.direction = Direction::kLower;
  CHECK(broken() == "quality-direction /variants/3/quality/direction; ");
  ablation.variants[3].quality->quality.direction = Direction::kHigher;
  ablation.settings.effective["warmup_steps"] = 1;
  CHECK(broken() == "warm-up /settings/effective/warmup_steps; ");
  ablation.settings.effective["warmup_steps"] = 2;
  ablation.variants[2].quality->passed = false;
  CHECK(broken() == "quality-target /variants/2/quality/value; ");
  ablation.variants[2].quality.reset();
  CHECK(broken() == "quality-target /variants/2/quality/value; ");
  rules.quality.reset();
  rules.valid = {{"classes", "/hyperparameters/classes", "equals", "4", ""},
                 {"kernels", "/kernels/nothing", "equals", "custom", ""}};
  CHECK(broken() == "classes /hyperparameters/classes; ");
  // Where no process came to its end, nobody knows what it would have told.
  ablation.preparation = json::object();
  ablation.status.state = RunState::kAborted;
  CHECK(broken().empty());
  ablation.status.state = RunState::kValid;
  rules.ablation.reset();
  rules.valid.clear();
  CHECK(broken() == "ablation /workload/rules_file; ");
}
