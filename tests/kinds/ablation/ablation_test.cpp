// The ablation's result: figures, JSON, schema, validation, summary.
#include "harness/kinds/ablation/ablation.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "harness/kinds/ablation/ablation_json.hpp"
#include "harness/kinds/ablation/summary.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/validate.hpp"
#include "harness/stats/stats.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/python_check.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sample_ablation.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
using Groups = std::vector<std::vector<std::size_t>>;

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
  CHECK_THAT(first.to_previous.reason, Catch::EndsWith("builds on no other"));
}

TEST_CASE("each cluster counts as one ratio, however many rounds it has", "[ablation]") {
  Ablation ablation = sample_ablation();
  // Rounds of each cluster went wrong for the second variant; the middle one counts.
  for (Turn& turn : ablation.variants[1].turns) {
    if (turn.round > 1) turn.step_seconds[0] *= turn.round == 2 ? 4 : 2;
  }
  summarise(ablation, kSampleBases);
  const Interval& ratio = *ablation.variants[1].to_first.value;
  CHECK(ratio.center == Approx(1));  // of 2, 0.5 and 1
  CHECK(*ratio.low == Approx(1));
  CHECK(ratio.confidence == Approx(0.96875));  // of six
}

TEST_CASE("what was never in memory together is compared by way of the first", "[ablation]") {
  const Ablation ablation = sample_ablation_in_groups();
  CHECK(groups_of(sample_ablation()) == Groups{{0, 1, 2, 3}});
  CHECK(groups_of(ablation) == Groups{{0, 1}, {0, 2, 3}});
  const std::string text = render_summary(ablation);
  CHECK_THAT(text, HasLines({"group 2 of 2, for want of memory: out-of-the-box, nothing, *"}));
  CHECK_THAT(text, HasLines({"*by way of", "  'out-of-the-box', and their medians are of*"}));
  CHECK_THAT(render_summary(sample_ablation()), !Catch::Contains("want of memory"));
  CHECK(ablation.variants[2].to_first.value->center == Approx(5));
  const Speedup& previous = ablation.variants[2].to_previous;
  CHECK(previous.to == "pooled");
  CHECK(previous.value->center == Approx(2.5));  // and not 5, by the clock
  CHECK(*previous.value->low == Approx(2.5));
  CHECK(previous.value->confidence == Approx(0.96875));
  CHECK(ablation.variants[3].to_reference.value->center == Approx(1));
  const TemporaryFolder folder;
  write_result_file(ablation, folder / "a.json");
  CHECK(validate_result_file(folder / "a.json").code == ExitCode::kOk);
}

TEST_CASE("a peer has a ratio to the first variant and none to others", "[ablation]") {
  const Ablation ablation = sample_ablation_with_peer();
  const Variant& peer = ablation.variants[4];
  CHECK(peer.to_first.value->center == Approx(1.25));
  CHECK_FALSE(peer.to_previous.value);
  CHECK_FALSE(peer.to_reference.value);
  const json written = to_json(ablation)["variants"][4];
  CHECK(written["settings"].is_null());
  CHECK(written["peer"]["files"][0]["file"] == "eager.py");
  CHECK_THAT(render_summary(ablation), HasLines({"eager is a peer: eager 1.0*"}));
}

TEST_CASE("a peer whose times are doubtful shows no ratio, but why", "[ablation]") {
  Ablation ablation = sample_ablation_with_peer();
  ablation.variants[4].peer->doubt = "says 1 s, which takes 2 s by our clock";
  ablation.status.state = RunState::kInvalid;
  CHECK(to_json(ablation)["variants"][4]["peer"]["doubt"] == ablation.variants[4].peer->doubt);
  CHECK(ablation_from_json(to_json(ablation)).variants[4].peer->doubt ==
        ablation.variants[4].peer->doubt);
  const std::string text = render_summary(ablation);
  CHECK_THAT(text, HasLines({"eager *1.000 s  doubtful *"}));
  CHECK_THAT(text, HasLines({"doubtful: eager " + ablation.variants[4].peer->doubt + "*"}));
}

TEST_CASE("intervals say how far they hold together", "[ablation]") {
  CHECK(*joint_confidence(sample_ablation()) == Approx(1 - 3 * 0.03125));
  CHECK_THAT(render_summary(sample_ablation()), Catch::Contains("together with at least 90 %"));
  Ablation few = sample_ablation();
  for (Variant& variant : few.variants) variant.turns.resize(15);
  summarise(few, kSampleBases);
  CHECK_FALSE(joint_confidence(few));
}

TEST_CASE("a turn of several steps counts as the median of them", "[ablation]") {
  Ablation ablation = sample_ablation();
  for (Variant& variant : ablation.variants) {
    for (Turn& turn : variant.turns) {
      const double seconds = turn.step_seconds.front();
      turn.step_seconds = {9 * seconds, seconds, seconds};  // the first finds cold caches
    }
  }
  summarise(ablation, kSampleBases);
  CHECK(ablation.variants[1].to_first.value->center == Approx(2));
}

TEST_CASE("without rounds, without a base or without time there is a reason", "[ablation]") {
  Ablation ablation = sample_ablation();
  SECTION("no round") {
    for (Variant& variant : ablation.variants) variant.turns.clear();
    summarise(ablation, kSampleBases);
    CHECK_FALSE(ablation.variants[1].median_seconds);
    CHECK_FALSE(ablation.variants[1].to_first.value);
    CHECK_THAT(ablation.variants[1].to_first.reason, Catch::Contains("no round"));
    CHECK(ablation.variants[1].phases.empty());
  }
  SECTION("five clusters") {
    for (Variant& variant : ablation.variants) variant.turns.resize(15);
    summarise(ablation, kSampleBases);
    CHECK(ablation.variants[1].to_first.value->center == Approx(2));
    CHECK_FALSE(ablation.variants[1].to_first.value->low);
    CHECK_THAT(render_summary(ablation), HasLines({"pooled *2.00 [-, -]*"}));
    CHECK_THAT(render_summary(ablation), Catch::Contains("needs 6 clusters"));
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
    summarise(ablation, kSampleBases);
    CHECK_THAT(ablation.variants[1].to_first.reason, Catch::Contains("too short"));
    CHECK(ablation.variants[2].to_previous.reason == ablation.variants[1].to_first.reason);
    CHECK(ablation.variants[2].to_first.value);
  }
}

TEST_CASE("an ablation goes to a file and back without loss", "[ablation]") {
  const TemporaryFolder folder;
  Ablation ablation = sample_ablation();
  SECTION("valid") {}
  SECTION("of one process, as until 1.2.0") { ablation = sample_ablation_of_one_process(); }
  SECTION("with a peer and peaks") {
    ablation = sample_ablation_with_peer();
    ablation.peaks = {
        {"fma.fp32", "FLOP/s", "AVX", 2, {1e12, 1e12, 1e12, 1e12, 1e12, 1e12}, {}, ""}};
    ablation.peaks[0].value = median_interval(ablation.peaks[0].samples);
    ablation.peaks[0].bound = 1e12;
    Variant& variant = ablation.variants[1];
    variant.cost =
        CostReport{{1e10, 3e10, 1e9, {}, "fp32"}, 3e10 / *variant.median_seconds, {}, ""};
    variant.cost->utilisation = *variant.cost->achieved_flops_per_second / 1e12;
  }
  SECTION("aborted in the first cluster") {
    ablation.preparation = nlohmann::json::object();
    for (Variant& variant : ablation.variants) {
      variant.turns.resize(1);
      variant.quality.reset();
      variant.memory = {std::nullopt, "none", "no counters"};
    }
    ablation.status = {};
    summarise(ablation, kSampleBases);
  }
  write_result_file(ablation, folder / "a.json");
  const ValidationReport report = validate_result_file(folder / "a.json");
  for (const SchemaProblem& problem : report.problems) {
    UNSCOPED_INFO(problem.path << ": " << problem.reason);
  }
  CHECK(report.problems.empty());
  REQUIRE(report.as<Ablation>() != nullptr);
  CHECK(report.as<Result>() == nullptr);
  CHECK(to_json(*report.as<Ablation>()) == to_json(ablation));
  check_with_python("ablation", folder / "a.json",
                    {"", "/identity", "/workload", "/environment/before", "/variants/1",
                     "/variants/1/settings", "/variants/1/turns/0", "/status", "/left_out/0"});
}

TEST_CASE("an ablation is no run, and says so to who wants one", "[ablation]") {
  const TemporaryFolder folder;
  write_result_file(sample_ablation(), folder / "a.json");
  CHECK_THAT(refusal_of([&] { read_result_file(folder / "a.json"); }),
             is_about((folder / "a.json").string(), {"harness run"}));
}

TEST_CASE("the summary shows each variant in one line of at most 100 columns", "[ablation]") {
  const std::string text = render_summary(sample_ablation());
  INFO(text);
  CHECK_THAT(text, HasLines({"variant *", "out-of-the-box     1.250 s  - *", "pooled *",
                             "nothing          250.00 ms  5.00 [5.00, 5.00] 2.50 [2.50, 2.50]*"}));
  CHECK_THAT(text, HasLines({"phase median *backward *forward"}));
  CHECK_THAT(text, Catch::Contains("bf16-reference: on pooled"));
  CHECK_THAT(text, HasLines({"left out elsewhere: made for no machine*"}));
  CHECK_THAT(text, Catch::EndsWith("Result not verified by MLCommons Association.\n"));
  CHECK(badly_set(text, 100).empty());
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
  summarise(ablation, kSampleBases);
  // 2 seven times and 4 once: 2^(9/8).
  CHECK_THAT(render_summary(ablation),
             HasLines({"nothing         geometric mean 2.18 of 8, least 2.00 (part0), most 4.00 "
                       "(part7)"}));
}
