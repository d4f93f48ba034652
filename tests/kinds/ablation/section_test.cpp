// What the page shows of an ablation.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "harness/kinds/ablation/section.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/shown_kind.hpp"
#include "tests/support/sample_ablation.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

ReportItem item_of(const Ablation& ablation) {
  return {{"a.json", "valid", ExitCode::kOk, {}, {}},
          std::make_shared<Ablation>(ablation),
          shown_kind_of(ablation),
          {},
          {}};
}

}  // namespace

TEST_CASE("an ablation is drawn as what each variant brings", "[report]") {
  const PageSection section = ablation_section(item_of(sample_ablation()), "ablation-1");
  const PagePlot& waterfall = section.plots.at(0);
  CHECK(waterfall.y.names.size() == 4);
  REQUIRE(waterfall.series.size() == 2);  // nothing is slower than what it builds on
  CHECK(waterfall.series[0].colour == kMutedColour);
  const PlotPoint& pooled = waterfall.series[1].points.at(0);
  CHECK(pooled.x == Approx(1.25).margin(0.01));  // from the first variant's median
  CHECK(*pooled.low == Approx(0.625).margin(0.01));
  CHECK(section.plots.at(1).marks.at(0).at == 1);
  CHECK(section.tables.at(0).rows.size() == 4);
  CHECK(section.tables.at(0).rows[1][4].text == "2.00 [2.00, 2.00]");
  const bool told =
      std::any_of(section.facts.begin(), section.facts.end(), [](const PageFact& fact) {
        return fact.name == "left out" && fact.value == "elsewhere: made for no machine";
      });
  CHECK(told);
}

TEST_CASE("what was measured in groups is drawn at its own time, and compared by way of the first",
          "[report]") {
  const PageSection section = ablation_section(item_of(sample_ablation_in_groups()), "ablation-1");
  CHECK_THAT(section.paragraphs.at(1), Catch::Contains("group 1 of 2, for want of memory"));
  const PagePlot& waterfall = section.plots.at(0);
  // 2.5 times faster, though in a time when all took half as long.
  const std::vector<PlotPoint>& bars = waterfall.series.at(0).points;
  CHECK(bars.at(1).x / bars.at(2).x == Approx(2.5));
  CHECK_THAT(waterfall.x.label, Catch::Contains("/ x first"));
  CHECK_THAT(waterfall.description, Catch::Contains("of different times"));
  const PagePlot& turns = section.plots.back();
  CHECK(turns.series.at(0).points.at(3).x == 4);
  CHECK(turns.series.at(1).points.at(3).x == 7);  // behind the other group
  CHECK(turns.series.at(2).points.at(0).x == 4);
  CHECK(turns.series.at(0).points.back().x == 36);
  CHECK_THAT(turns.description, Catch::Contains("rounds of every group"));
  CHECK(ablation_section(item_of(sample_ablation()), "ablation-1").paragraphs.size() == 1);
}

TEST_CASE("a peer whose times are doubtful is shown as such", "[report]") {
  Ablation ablation = sample_ablation_with_peer();
  std::vector<Variant>& variants = ablation.variants;
  for (Turn& turn : variants[4].turns) turn.step_seconds = {0.01};  // says it
  summarise(ablation, {"", "out-of-the-box", "pooled", "pooled", ""});
  CHECK(line_of(item_of(ablation)).headline.name == "eager");
  variants[4].peer->doubt = "says 10 ms, which takes 1 s by our clock";
  CHECK(line_of(item_of(ablation)).headline.name == "nothing");
  const PageSection section = ablation_section(item_of(ablation), "ablation-1");
  CHECK_THAT(section.paragraphs.at(1), Catch::Contains("doubtful: eager says 10 ms"));
  CHECK(section.tables.at(0).rows[4][4].text == "doubtful");
  CHECK_THAT(section.plots.at(0).series.at(0).points.back().label, Catch::EndsWith("doubtful"));
  for (const PlotSeries& series : section.plots.at(1).series) {
    for (const PlotPoint& point : series.points) CHECK(point.y < 3.5);
  }
}
