// Which variants an ablation measures: the ladder of the rules, and what of it can run.
#include "harness/plan/ablation_plan.hpp"

#include <catch2/catch.hpp>

#include "harness/base/files.hpp"
#include "harness/workload/ablation_rules.hpp"
#include "harness/workload/rules_file.hpp"
#include "tests/support/refusal.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

AblationRequest null_request(const std::vector<std::string>& variants = {}) {
  AblationRequest request;
  request.common["workload"] = "null";
  request.variants = variants;
  return request;
}

ErrorParts refusal(const AblationRequest& request) {
  return refusal_of([&] { make_ablation_plan(request, home_folder()); });
}

std::string names(const AblationPlan& plan) {
  std::string text;
  for (const VariantPlan& variant : plan.variants) text += variant.name + " ";
  return text;
}

AblationRule ladder(const char* variants) {
  return ablation_rule_from_json({{"variants", json::parse(variants)}}, "rules/x.json");
}

}  // namespace

TEST_CASE("each variant adds to the one it builds on", "[ablation-plan]") {
  const AblationRule rule = ladder(R"([
    {"name": "a", "summary": "s"},
    {"name": "b", "summary": "s", "allocator": "pooled"},
    {"name": "c", "summary": "s", "kernels": {"x": "custom"}},
    {"name": "d", "summary": "s", "kernels": {"y": "custom"}, "precision": "bf16"},
    {"name": "e", "summary": "s", "builds_on": "b", "precision": "bf16"},
    {"name": "f", "summary": "s", "builds_on": "d", "kernels": {"x": "reference"}}])");
  const auto settings = [&](std::size_t i) { return rule.variants.at(i).settings; };
  CHECK(settings(0) == VariantSettings{{{"allocator", "system"}, {"precision", "fp32"}}, {}});
  CHECK(settings(1) == VariantSettings{{{"allocator", "pooled"}, {"precision", "fp32"}}, {}});
  CHECK(settings(2) ==
        VariantSettings{{{"allocator", "pooled"}, {"precision", "fp32"}}, {{"x", "custom"}}});
  CHECK(settings(3) == VariantSettings{{{"allocator", "pooled"}, {"precision", "bf16"}},
                                       {{"x", "custom"}, {"y", "custom"}}});
  CHECK(settings(4) == VariantSettings{{{"allocator", "pooled"}, {"precision", "bf16"}}, {}});
  CHECK(settings(5) == VariantSettings{{{"allocator", "pooled"}, {"precision", "bf16"}},
                                       {{"x", "reference"}, {"y", "custom"}}});
  CHECK(rule.variants[0].builds_on.empty());
  CHECK(rule.variants[3].builds_on == "c");
  CHECK(rule.rounds >= 6);
}

TEST_CASE("a ladder that makes no sense is refused by name", "[ablation-plan]") {
  const auto refusal = [](const char* variants) { return refusal_of([&] { ladder(variants); }); };
  CHECK_THAT(refusal(R"([{"name": "a", "summary": ""}, {"name": "a", "summary": ""}])"),
             is_about("rules/x.json: variant 'a'", {"twice"}));
  const ErrorParts first = refusal(R"([{"name": "a", "summary": "", "builds_on": "b"}])");
  CHECK_THAT(first, is_about("rules/x.json: variant 'a'", {"first one"}));
  const ErrorParts unknown =
      refusal(R"([{"name": "a", "summary": ""}, {"name": "b", "summary": "", "builds_on": "c"}])");
  CHECK_THAT(unknown, is_about("rules/x.json: variant 'b'", {"builds on 'c'"}));
}

TEST_CASE("the plan holds what can run and says what is left out and why", "[ablation-plan]") {
  const AblationPlan plan = make_ablation_plan(null_request(), home_folder());
  CHECK(names(plan) == "out-of-the-box pooled nothing bf16 bf16-reference ");
  REQUIRE(plan.left_out.size() == 1);
  CHECK(plan.left_out[0].name == "elsewhere");
  CHECK_THAT(plan.left_out[0].reason, Catch::StartsWith("nothing=elsewhere "));
  const VariantPlan& bf16 = plan.variants[3];
  CHECK(bf16.builds_on == "nothing");
  CHECK(bf16.plan.context.precision == "bf16");
  CHECK(bf16.plan.context.allocator == "pooled");
  CHECK(bf16.plan.context.kernels == KernelSet{{"nothing", "custom"}});
  CHECK(plan.variants[4].builds_on == "pooled");
  CHECK(plan.rounds == 10);  // the rules' 6, and then all have been everywhere as often
  CHECK(plan.clusters == 6);
  CHECK(plan.departures.empty());  // bf16 departs from what a closed run sets; a ladder may
  CHECK(plan.requested == json{{"workload", "null"}});
  CHECK(plan.effective["rounds"] == 10);
  CHECK(plan.effective["warmup_steps"] == 2);
  CHECK(plan.effective["clusters"] == 6);
  CHECK(plan.effective["steps_per_turn"] == 1);
  CHECK_FALSE(plan.effective.contains("precision"));
}

TEST_CASE("a subset keeps the order of the rules, and builds on the nearest that is there",
          "[ablation-plan]") {
  AblationRequest request = null_request({"bf16-reference", "bf16", "out-of-the-box"});
  const AblationPlan plan = make_ablation_plan(request, home_folder());
  CHECK(names(plan) == "out-of-the-box bf16 bf16-reference ");
  CHECK(plan.variants[0].builds_on.empty());
  CHECK(plan.variants[1].builds_on == "out-of-the-box");
  CHECK(plan.variants[2].builds_on == "out-of-the-box");
  CHECK(plan.left_out.empty());  // nothing that was asked for
  CHECK(plan.requested["variants"] == "bf16-reference,bf16,out-of-the-box");
  const AblationPlan pair =
      make_ablation_plan(null_request({"bf16-reference", "nothing"}), home_folder());
  CHECK(pair.variants[1].builds_on.empty());
}

TEST_CASE("what cannot be planned is refused by name", "[ablation-plan]") {
  CHECK_THAT(refusal(null_request({"poled"})), is_about("--variants 'poled'", {"pooled"}));
  CHECK(refusal(null_request({""})).about == "--variants ''");
  CHECK_THAT(refusal(null_request({"pooled", "elsewhere"})),
             is_about("--variants 'elsewhere'", {"nothing=elsewhere"}));
  AblationRequest request = null_request();
  for (const int rounds : {0, 1001}) {
    request.rounds = rounds;
    CHECK(refusal(request).about == "--rounds " + std::to_string(rounds));
  }
  CHECK(refusal(request).names("at most 1000"));
  request.rounds.reset();
  request.clusters = 101;
  CHECK(refusal(request).about == "--clusters 101");
  request = null_request();
  request.common["batch_size"] = 0;
  CHECK(refusal(request).about == "--batch-size 0");
  request.common["workload"] = "nul";
  CHECK(refusal(request).about == "workload 'nul'");
}

TEST_CASE("fewer rounds, another batch and another seed are what was asked for",
          "[ablation-plan]") {
  AblationRequest request = null_request();
  request.rounds = 3;
  request.clusters = 2;
  request.common["batch_size"] = 2;
  request.common["seed"] = 9;
  const AblationPlan plan = make_ablation_plan(request, home_folder());
  REQUIRE(plan.departures.size() == 3);
  CHECK(plan.departures[0].path == "/settings/effective/batch_size");
  CHECK(plan.departures[1].path == "/settings/effective/rounds");
  CHECK(plan.departures[1].expected == "at least 6");
  CHECK(plan.departures[2].path == "/settings/effective/clusters");
  CHECK(plan.requested ==
        json{{"workload", "null"}, {"batch_size", 2}, {"seed", 9}, {"rounds", 3}, {"clusters", 2}});
  for (const VariantPlan& variant : plan.variants) {
    CHECK(variant.plan.context.seeds.run == 9);
    CHECK(variant.plan.context.seeds.weights == plan.variants[0].plan.context.seeds.weights);
    CHECK(variant.plan.context.batch_size == 2);
  }
}

TEST_CASE("a peer has a name of its own and a command", "[ablation-plan]") {
  const auto with = [](const std::vector<std::string>& peers) {
    AblationRequest request = null_request();
    request.peers = peers;
    return request;
  };
  const AblationPlan plan = make_ablation_plan(with({"a=x --set b=c", "b.2=y"}), home_folder());
  REQUIRE(plan.peers.size() == 2);
  CHECK(plan.peers[0].name == "a");
  CHECK(plan.peers[0].command == "x --set b=c");
  struct Case {
    std::vector<std::string> peers;
    const char* about;
    const char* names;
  };
  const std::vector<Case> cases = {
      {{"a"}, "--peer 'a'", "no command"},          {{"a="}, "--peer 'a='", "no command"},
      {{"=x"}, "--peer '=x'", "its name"},          {{"../a=x"}, "--peer '../a=x'", "its name"},
      {{"pooled=x"}, "--peer 'pooled=x'", "taken"}, {{"a=x", "a=y"}, "--peer 'a=y'", "taken"}};
  for (const Case& one : cases) {
    CHECK_THAT(refusal(with(one.peers)), is_about(one.about, {one.names}));
  }
}

TEST_CASE("in a cluster each side has each place equally often", "[ablation-plan]") {
  AblationRequest request = null_request({"out-of-the-box"});
  for (std::size_t sides = 1; sides <= 12; ++sides) {
    const AblationPlan plan = make_ablation_plan(request, home_folder());
    CAPTURE(sides, plan.rounds);
    CHECK(plan.rounds >= 6);
    CHECK(plan.rounds < 6 + static_cast<std::int64_t>(sides));
    CHECK(plan.rounds % static_cast<std::int64_t>(sides) == 0);
    request.peers.push_back("p" + std::to_string(sides) + "=true");
  }
  request.rounds = 7;
  CHECK(make_ablation_plan(request, home_folder()).rounds == 7);
}

TEST_CASE("more variants and peers than a result holds are refused at once", "[ablation-plan]") {
  AblationRequest request = null_request();
  for (int i = 0; i < 59; ++i) request.peers.push_back("p" + std::to_string(i) + "=true");
  CHECK(make_ablation_plan(request, home_folder()).peers.size() == 59);
  request.peers.push_back("one-more=true");
  CHECK_THAT(refusal(request), is_about("--peer", {"5 variants and 60 peers"}));
}

TEST_CASE("a missing part is named", "[ablation-plan]") {
  WorkloadInfo info;
  info.offers = {{"allocator", {"system"}}, {"precision", {"fp32"}}};
  info.operators = {{"x", "", {{"reference", ""}, {"custom", "", "needs AVX-512"}}}};
  const auto missing = [&](const char* allocator, const char* precision, const KernelSet& kernels) {
    return missing_part({{{"allocator", allocator}, {"precision", precision}}, kernels}, info);
  };
  CHECK(missing("system", "fp32", {{"x", "reference"}}).empty());
  CHECK_THAT(missing("pooled", "fp32", {}), Catch::Contains("no allocator 'pooled'"));
  CHECK_THAT(missing("system", "bf16", {}), Catch::Contains("no precision 'bf16'"));
  CHECK_THAT(missing("system", "fp32", {{"x", "fast"}}), Catch::Contains("'fast'"));
  CHECK_THAT(missing("system", "fp32", {{"x", "custom"}}), Catch::EndsWith(": needs AVX-512"));
  CHECK_THAT(missing("system", "fp32", {{"y", "custom"}}), Catch::Contains("no operator y"));
}
