// What the report's page says of campaigns.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/gate/narrowing.hpp"
#include "harness/report/page/html_campaign.hpp"
#include "harness/report/page/html_json.hpp"
#include "harness/report/page/html_page.hpp"
#include "harness/report/page/html_render.hpp"
#include "harness/report/text/report_forms.hpp"
#include "tests/support/sample_campaign.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

ReportData data_of(std::vector<ReportCampaign> campaigns) {
  ReportData data;
  data.campaigns = std::move(campaigns);
  return data;
}

ReportCampaign campaign(double improvement, bool ended = true, std::int64_t clusters = 40) {
  return {"runs/night", sample_campaign(improvement, clusters), ended};
}

}  // namespace

TEST_CASE("the page begins with the verdict and what decided", "[report][campaign]") {
  const ReportPage page = make_page(data_of({campaign(0.95)}));
  REQUIRE(page.verdicts.size() == 1);
  const PageVerdict& verdict = page.verdicts.front();
  CHECK(verdict.word == "regressed");
  CHECK(verdict.tone == Tone::kBad);
  CHECK_THAT(verdict.sentence, Catch::Contains("time.step") && Catch::Contains("margin 1.5 %"));
  REQUIRE(verdict.rows.size() == 3);
  CHECK(verdict.rows[0].name == "time.step");
  CHECK(verdict.rows[0].high < 1 / 1.015);
  CHECK(verdict.rows[0].margin == 0.015);
  CHECK(page.sections.front().id == "campaigns");
  CHECK(page.sections.front().parts.front().id == verdict.target);
  CHECK(make_page(data_of({campaign(1)})).verdicts.front().tone == Tone::kGood);
}

TEST_CASE("a funnel's point is that of the clusters up to it", "[report][campaign]") {
  const ReportData data = data_of({campaign(0.95)});
  const PageSection section = campaigns_section(data);
  const std::vector<PagePlot>& plots = section.parts.front().plots;
  // Memory never differs, so there is nothing to draw.
  REQUIRE(plots.size() == 2);
  const auto so_far =
      std::find_if(plots[0].series.begin(), plots[0].series.end(),
                   [](const PlotSeries& series) { return series.style == PlotStyle::kLine; });
  REQUIRE(so_far != plots[0].series.end());
  const std::vector<double>& improvements = data.campaigns[0].report.rows[0].improvements;
  REQUIRE(so_far->points.size() == improvements.size());
  for (const std::size_t n : {1U, 6U, 17U, 40U}) {
    const PlotPoint& point = so_far->points[n - 1];
    const Interval wanted = narrowed(std::span(improvements).first(n), false).improvement;
    CHECK(point.x == static_cast<double>(n));
    CHECK(point.y == Approx(wanted.center));
    CHECK(point.low.has_value() == wanted.low.has_value());
    if (point.low) CHECK(*point.low == Approx(*wanted.low));
  }
  // Margins and looks are marked.
  const auto across = std::count_if(plots[0].marks.begin(), plots[0].marks.end(),
                                    [](const PlotMark& mark) { return mark.across; });
  CHECK(across == 3);
  CHECK(plots[0].marks.size() - static_cast<std::size_t>(across) ==
        data.campaigns[0].report.rows[0].looks.size());
}

TEST_CASE("a campaign that did not end has no verdict, whatever its looks say",
          "[report][campaign]") {
  const ReportData data = data_of({campaign(0.9, false, 17)});
  const ReportPage page = make_page(data);
  const PageVerdict& verdict = page.verdicts.front();
  CHECK(verdict.word == "no verdict");
  CHECK(verdict.tone == Tone::kDoubt);
  CHECK_THAT(verdict.sentence, Catch::Contains("after 17 clusters"));
  const std::string document = to_json(page).dump();
  CHECK(document.find("\"word\":\"regressed\"") == std::string::npos);
  CHECK_THAT(render_report(data), Catch::Contains("no verdict"));
  CHECK(report_json(data)["campaigns"][0]["verdict"] == "no verdict");
}

TEST_CASE("of many campaigns the page shows some, and those open that matter",
          "[report][campaign]") {
  std::vector<ReportCampaign> many(30, campaign(1));
  many[1] = campaign(0.95);
  const ReportPage page = make_page(data_of(many));
  CHECK(page.verdicts.size() < 30);
  const PageSection& section = page.sections.front();
  CHECK(section.parts.size() == page.verdicts.size());
  CHECK_FALSE(section.paragraphs.empty());
  CHECK_FALSE(section.parts[0].open);
  CHECK(section.parts[1].open);
  CHECK_THAT(render_report(data_of(many)), Catch::Contains("regressed"));
}

TEST_CASE("hostile texts of a verdict stay text", "[report][campaign]") {
  const std::string payload = "</script><script>alert(1)</script>\x1b";
  ReportCampaign bad = campaign(0.95);
  GateReport& report = bad.report;
  report.subject = report.method = report.baseline = report.candidate = report.unit = payload;
  for (GateRow& row : report.rows) row.tag = row.note = row.unit = payload;
  report.notes.assign(2000, payload);
  const std::string html = render_html(make_page(data_of({bad})));
  CHECK(html.find(payload.substr(0, 20)) == std::string::npos);
  CHECK(html.find('\x1b') == std::string::npos);
  const std::string text = render_report(data_of({bad}));
  CHECK(text.find('\x1b') == std::string::npos);
}
