// What the report says of profiles.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/html_json.hpp"
#include "harness/report/page/html_page.hpp"
#include "harness/report/page/html_profile.hpp"
#include "harness/report/page/html_profile_roofline.hpp"
#include "harness/report/page/html_render.hpp"
#include "harness/report/text/report_forms.hpp"
#include "tests/support/sample_profile.hpp"
#include "tests/support/text_lines.hpp"
#include "tests/support/validated.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

/// So many have a section of their own.
constexpr std::size_t kMostProfiles = 20;
constexpr const char* kPayload = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";

ReportData collected(const std::vector<Profile>& profiles) {
  ReportCollector collector;
  for (const Profile& profile : profiles) {
    collector.add(profile.identity.uuid + ".json", validated(profile), {});
  }
  return collector.finish();
}

Profile numbered(const std::string& number, const std::string& kernels) {
  Profile profile = sample_profile();
  profile.identity.uuid = number;
  profile.identity.started_at = "2026-01-0" + number + "T12:00:00.000Z";
  profile.kernels = {{"conv-block", kernels}};
  return profile;
}

const PageSection* section_of(const ReportPage& page, const std::string& id) {
  const auto found = std::find_if(page.sections.begin(), page.sections.end(),
                                  [&](const PageSection& one) { return one.id == id; });
  return found == page.sections.end() ? nullptr : &*found;
}

const PagePlot& plot_titled(const PageSection& section, const std::string& start) {
  const auto found =
      std::find_if(section.plots.begin(), section.plots.end(),
                   [&](const PagePlot& plot) { return plot.title.starts_with(start); });
  REQUIRE(found != section.plots.end());
  return *found;
}

const PageTable& table_titled(const PageSection& section, const std::string& start) {
  const auto found =
      std::find_if(section.tables.begin(), section.tables.end(),
                   [&](const PageTable& table) { return table.caption.starts_with(start); });
  REQUIRE(found != section.tables.end());
  return *found;
}

void check_rows(const PageSection& section) {
  for (const PageTable& table : section.tables) {
    CAPTURE(table.caption);
    CHECK(table.rows.size() <= kMostRows);
    for (const auto& row : table.rows) CHECK(row.size() == table.columns.size());
  }
  for (const PageSection& part : section.parts) check_rows(part);
}

}  // namespace

TEST_CASE("a profile has a line in the terminal", "[report][profile]") {
  const std::string text = render_report(collected({numbered("1", "custom")}));
  CHECK_THAT(text, HasLines({"2026-01-01 12:00  null*fp32 custom, profile*backbone.body 60.0 % of "
                             "10.000 s*"}));
}

TEST_CASE("a profile's section has its pictures and tables", "[report][profile]") {
  const ReportPage page = make_page(collected({numbered("1", "reference")}));
  const PageSection* profiles = section_of(page, "profiles");
  REQUIRE(profiles != nullptr);
  REQUIRE(profiles->parts.size() == 1);
  CHECK(section_of(page, "profile-pairs") == nullptr);
  const PageSection& section = profiles->parts[0];
  check_rows(section);
  CHECK_THAT(section.title, Catch::StartsWith("Profile of null on machine "));
  CHECK_FALSE(section.folded);
  CHECK_THAT(section.paragraphs.at(0),
             HasLines({"*A plain step takes 9.500 s*2 recorded steps: 10.000 s*"}));
  const bool noted =
      std::any_of(section.facts.begin(), section.facts.end(), [](const PageFact& fact) {
        return fact.name == "note" && fact.tone == Tone::kDoubt &&
               fact.value.find("no fast implementation for convolution backward_data") !=
                   std::string::npos;
      });
  CHECK(noted);
  const PagePlot& bars = plot_titled(section, "Primitives");
  CHECK(bars.y.names.at(0) == "convolution backward_weights f32 jit:avx512_core");
  const auto slow = std::find_if(bars.series.begin(), bars.series.end(),
                                 [](const PlotSeries& one) { return one.colour == kBadColour; });
  REQUIRE(slow != bars.series.end());
  CHECK(slow->points.at(0).label == "1.500 s · 15.0 %");
  const PagePlot& memory = plot_titled(section, "Memory");
  CHECK(memory.y.label == "in use, MiB");
  CHECK(memory.marks.at(0).at == 300);
  const PageTable& parts = table_titled(section, "Parts");
  CHECK(parts.rows.at(0).at(0).text == "backbone.body");
  CHECK(parts.rows.at(0).at(3).text == "60.00 %");
  const PageTable& primitives = table_titled(section, "Primitives");
  CHECK(primitives.rows.at(1).at(3).tone == Tone::kBad);
  CHECK(table_titled(section, "The largest allocations").rows.at(0).at(0).text == "200 MiB");
  REQUIRE(section.parts.size() == 1);
  CHECK(section.parts[0].folded);
  CHECK(section.parts[0].tables.at(0).rows.size() == 5);
  CHECK(section.parts[0].tables.at(1).rows.size() == 4);
}

TEST_CASE("nested bars fit into what they are part of", "[report][profile]") {
  ProfileTables tables = sample_tables();
  tables.primitives[0].seconds = 7;  // oneDNN's clock says more than the operator's
  const PageIcicle icicle = profile_icicle(tables);
  REQUIRE(icicle.trees.size() == 3);
  for (const PageTree& tree : icicle.trees) {
    std::vector<double> inside(tree.nodes.size(), 0);
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
      REQUIRE(tree.nodes[i].parent < i);
      inside[tree.nodes[i].parent] += tree.nodes[i].value;
    }
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      CHECK(inside[i] <= tree.nodes[i].value * (1 + 1e-6));
    }
  }
  const PageTree& first = icicle.trees[0];
  CHECK(first.nodes[0].colour == kMutedColour);
  const auto backward = std::find_if(first.nodes.begin(), first.nodes.end(),
                                     [](const PageNode& node) { return node.name == "backward"; });
  REQUIRE(backward != first.nodes.end());
  CHECK(backward->text == "6.000 s · 60.00 % of the step · 4 calls · 66.7 GFLOP/s");
  CHECK(backward->colour == phase_colour("backward"));
  CHECK(std::any_of(first.nodes.begin(), first.nodes.end(),
                    [](const PageNode& node) { return node.tone == Tone::kBad; }));
}

TEST_CASE("a profile's roofline draws the roofs that were measured", "[report][profile]") {
  Profile profile = sample_profile();
  profile.peaks = {{"fma.fp32", "FLOP/s", "made up", 2, {}, Interval{1e12, {}, {}, 0}, ""},
                   {"copy.bandwidth", "B/s", "made up", 2, {}, Interval{2e10, {}, {}, 0}, ""}};
  auto plot = profile_roofline(profile);
  REQUIRE(plot);
  CHECK(plot->x.logarithmic);
  const PlotSeries& roof = plot->series.back();
  CHECK(roof.name == "peak fma.fp32");
  REQUIRE(roof.points.size() == 3);
  CHECK(roof.points[1].x == Approx(50));
  CHECK(roof.points[1].y == Approx(1000));
  CHECK(roof.points[0].y == Approx(roof.points[0].x * 20));
  const PlotPoint& point = plot->series.front().points.at(0);
  CHECK(point.x == Approx(100));
  CHECK(point.y == Approx(2 * 1e11 / 2.5 / 1e9));
  CHECK_THAT(point.label, HasLines({"*jit:avx512_core, 2.500 s*backbone.body.conv1*"}));
  CHECK(point.size == 1);
  // Without bandwidth the peak is a line, without any peak there are points only.
  profile.peaks.pop_back();
  plot = profile_roofline(profile);
  CHECK(plot->series.back().points.size() == 2);
  CHECK_THAT(plot->description, Catch::Contains("copy.bandwidth"));
  const std::size_t with_roof = plot->series.size();
  profile.peaks.clear();
  plot = profile_roofline(profile);
  REQUIRE(plot);
  CHECK(plot->series.size() == with_roof - 1);
  for (PrimitiveRow& row : profile.tables.primitives) row.flops.reset();
  CHECK_FALSE(profile_roofline(profile));
}

TEST_CASE("profiles of a workload stand side by side", "[report][profile]") {
  Profile faster = numbered("1", "custom");
  faster.tables.operators[1].self_seconds = 0.5;
  faster.tables.operators[1].name = "conv-block.backward";
  faster.tables.step_seconds = 8.5;
  Profile other = numbered("3", "custom");
  other.rules.workload = "another";
  const ReportPage page = make_page(collected({faster, numbered("2", "reference"), other}));
  const PageSection* pairs = section_of(page, "profile-pairs");
  REQUIRE(pairs != nullptr);
  check_rows(*pairs);
  REQUIRE(pairs->parts.size() == 1);  // a workload with one profile has nothing to stand beside
  const PageSection& group = pairs->parts[0];
  const PageTable& steps = table_titled(group, "Steps");
  REQUIRE(steps.rows.size() == 2);
  // Reference kernels go first, although they were measured later.
  CHECK(steps.rows[0][0].text == "kernels reference");
  CHECK(steps.rows[1][3].text == "0.850");
  CHECK_FALSE(steps.rows[1][0].target.empty());
  REQUIRE(group.parts.size() == 1);
  const PageSection& pair = group.parts[0];
  CHECK(pair.title == "kernels custom against kernels reference");
  CHECK_THAT(pair.paragraphs.at(0), Catch::Contains("8.500 s instead of 10.000 s: -1.500 s"));
  const PagePlot& parts = plot_titled(pair, "Change by part");
  CHECK(parts.y.names == std::vector<std::string>{"head.conv"});
  CHECK(parts.series.at(0).colour == kGoodColour);
  CHECK(parts.series.at(0).points.at(0).x == -1.5);
  CHECK(plot_titled(pair, "Primitives").paired);
  const PageTable& operators = table_titled(pair, "Change by operator");
  CHECK(operators.rows.at(0).at(0).text == "aten::convolution_backward");
  CHECK(operators.rows.at(0).at(1).text == "-2.000 s");
  CHECK(operators.rows.at(1).at(5).text == "new");
}

TEST_CASE("a page says of which profiles it has no section", "[report][profile]") {
  std::vector<Profile> profiles;
  for (int i = 0; i < 22; ++i) {
    Profile profile = numbered("1", "custom");
    profile.identity.uuid = std::to_string(i);
    profiles.push_back(profile);
  }
  const ReportPage page = make_page(collected(profiles));
  const PageSection* section = section_of(page, "profiles");
  REQUIRE(section != nullptr);
  CHECK(section->parts.size() == kMostProfiles);
  CHECK(section->paragraphs ==
        std::vector<std::string>{"Only the latest 20 of 22 profiles have a section here. The table "
                                 "of results lists all."});
  CHECK(section_of(page, "summary")->tables.at(0).rows.size() == 22);
  profiles.resize(kMostProfiles);
  CHECK(section_of(make_page(collected(profiles)), "profiles")->paragraphs.empty());
}

TEST_CASE("profiles with problems are shown and not compared", "[report][profile]") {
  ReportCollector collector;
  for (const char* number : {"1", "2"}) {
    ValidationReport report = validated(numbered(number, "custom"));
    report.problems = {{"/profile/steps", "do not agree"}};
    report.problems_code = ExitCode::kInvalid;
    collector.add(std::string(number) + ".json", report, {});
  }
  const ReportData data = collector.finish();
  CHECK(data.code() == ExitCode::kInvalid);
  CHECK_FALSE(data.empty());
  const ReportPage page = make_page(data);
  CHECK(section_of(page, "profiles")->parts.size() == 2);
  CHECK(section_of(page, "profile-pairs") == nullptr);
  CHECK_THAT(render_report(data), Catch::Contains("/profile/steps: do not agree"));
}

TEST_CASE("nothing recorded is little to show", "[report][profile]") {
  Profile empty = sample_profile();
  empty.tables = {};
  const ReportPage page = make_page(collected({empty}));
  CHECK(section_of(page, "profiles")->parts.at(0).icicles.empty());
  CHECK_NOTHROW(render_html(page));
  CHECK_NOTHROW(render_report(collected({empty})));
}

TEST_CASE("hostile and huge profiles leave the page sound", "[report][profile]") {
  Profile hostile = numbered("1", kPayload);
  ProfileTables& tables = hostile.tables;
  for (OperatorRow& row : tables.operators) {
    row.phase = row.module = row.name = row.shapes = kPayload;
    row.self_seconds = 1e308;
  }
  for (PrimitiveRow& row : tables.primitives) {
    row.primitive.kind = row.primitive.direction = row.primitive.implementation = kPayload;
    row.primitive.problem = row.primitive.attributes = row.library = kPayload;
    row.primitive.tensors = {{kPayload, kPayload, kPayload, true}};
    row.flops = row.bytes = row.seconds = 1e308;
    row.owner = 4000000000;
  }
  tables.step_seconds = 1e308;
  tables.allocations = {{1e308, kPayload, kPayload, kPayload}};
  tables.memory = {{0, 1e308}, {1e308, -1e308}, {1e300, 5}};
  tables.notes = std::vector<std::string>(5000, kPayload);
  tables.libraries = {kPayload};
  Profile second = hostile;
  second.identity.uuid = kPayload;
  ReportPage page = make_page(collected({hostile, second}));
  const std::string html = render_html(page);
  const std::string plain = render_html(ReportPage{});
  const auto count_of = [](const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  };
  for (const char* part : {"<script", "</script", "<img", "<!--"}) {
    CAPTURE(part);
    CHECK(count_of(html, part) == count_of(plain, part));
  }
  REQUIRE(section_of(page, "profiles") != nullptr);
  for (const PageSection& part : section_of(page, "profiles")->parts) {
    CHECK(part.facts.size() < 60);
    for (const PagePlot& plot : part.plots) {
      for (const PlotSeries& series : plot.series) {
        for (const PlotPoint& point : series.points) CHECK(std::abs(point.y) <= 1e100);
      }
    }
  }
  CHECK(json::parse(script_json(to_json(page))).is_object());
}

TEST_CASE("a profile of very many operators makes no very large page", "[report][profile]") {
  Profile profile = sample_profile();
  profile.tables.operators.clear();
  profile.tables.primitives.clear();
  for (std::size_t i = 0; i < 100000; ++i) {
    profile.tables.operators.push_back(sample_operator(
        i % 2 == 0 ? "forward" : "backward",
        "layer" + std::to_string(i % 50) + ".block" + std::to_string(i % 1009), "aten::op", 1e-4));
  }
  const ReportPage page = make_page(collected({profile}));
  check_rows(*section_of(page, "profiles"));
  const PageTable& rows = section_of(page, "profiles")->parts[0].parts[0].tables.at(0);
  CHECK(rows.rows.size() == kMostRows);
  CHECK_THAT(rows.note, Catch::Contains("2000 of 100000 rows"));
  CHECK(script_json(to_json(page)).size() < (4U << 20U));
}
