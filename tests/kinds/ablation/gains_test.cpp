// What was expected of advice beside what was measured.
#include "harness/kinds/ablation/gains.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

Variant variant(const std::string& name, VariantSettings settings, double median,
                const std::string& previous, double speedup) {
  Variant made;
  made.name = name;
  made.settings = std::move(settings);
  made.median_seconds = median;
  made.to_previous.to = previous;
  if (speedup > 0) {
    made.to_previous.value = Interval{speedup, speedup * 0.9, speedup * 1.1, 0.95};
  }
  return made;
}

}  // namespace

TEST_CASE("an ablation tells what one change brought", "[advice]") {
  Ablation ablation;
  const KernelSet none = {{"focal-loss", "reference"}};
  const KernelSet custom = {{"focal-loss", "custom"}};
  ablation.variants = {
      variant("first", {{{"allocator", "system"}, {"precision", "fp32"}}, none}, 10, "", 0),
      variant("pooled", {{{"allocator", "pooled"}, {"precision", "fp32"}}, none}, 8, "first", 1.25),
      variant("focal", {{{"allocator", "pooled"}, {"precision", "fp32"}}, custom}, 4, "pooled", 2),
      variant("both", {{{"allocator", "system"}, {"precision", "bf16"}}, custom}, 4, "focal", 2),
      variant("bf16", {{{"allocator", "pooled"}, {"precision", "bf16"}}, none}, 4, "pooled", 0)};
  const MeasuredGains gains = measured_gains(std::span(&ablation, 1));
  REQUIRE(gains.size() == 2);
  CHECK(gains.at({"allocator", "pooled"}).center == Approx(2));
  CHECK(gains.at({"focal-loss", "custom"}).center == Approx(4));
  CHECK(gains.at({"focal-loss", "custom"}).low.value_or(0) == Approx(8 * (1 - 1 / 1.8)));

  // Another process in which the second change brought nothing, and a third with half of it.
  std::vector<Ablation> three(3, ablation);
  three[1].variants[2] =
      variant("focal", {{{"allocator", "pooled"}, {"precision", "fp32"}}, custom}, 8, "pooled", 1);
  three[2].variants[2] = variant(
      "focal", {{{"allocator", "pooled"}, {"precision", "fp32"}}, custom}, 6, "pooled", 8.0 / 6);
  const MeasuredGains together = measured_gains(three);
  CHECK(together.at({"allocator", "pooled"}).center == Approx(2));
  const Interval& focal = together.at({"focal-loss", "custom"});
  CHECK(focal.center == Approx(2));
  CHECK(focal.low.value_or(-1) == Approx(0));
  CHECK(focal.high.value_or(-1) == Approx(4));
  CHECK(focal.confidence == Approx(0.75));

  AdviceReport report;
  report.step_seconds = 10;
  report.measured = gains;
  report.advice = {{"memory", "f", "b", AdvisedChange{"allocator", "pooled"}, 3, false},
                   {"a", "f", "b", AdvisedChange{"focal-loss", "custom"}, 1, false},
                   {"b", "f", "b", AdvisedChange{"focal-loss", "custom"}, 2, false}};
  const nlohmann::json document = to_json(report);
  CHECK(document["advice"][0]["measured_seconds"].get<double>() == Approx(2));
  CHECK(document["advice"][0]["expected_share"].get<double>() == Approx(0.3));
  CHECK(document["advice"][1]["expected_by_change"].get<double>() == Approx(3));
  CHECK(document["advice"][2]["try"] == "--kernels focal-loss=custom");
  const std::string text = render_advice(report, Profile());
  CHECK_THAT(text, Catch::Contains("1.50"));  // 3 expected, 2 measured
  CHECK_THAT(text, Catch::Contains("0.75"));
}
