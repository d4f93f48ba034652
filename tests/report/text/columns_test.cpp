// Names that are longer than their column.
#include "harness/report/text/columns.hpp"

#include <catch2/catch.hpp>

#include "harness/compare/comparison.hpp"
#include "harness/report/text/advice_text.hpp"
#include "harness/report/text/comparison_text.hpp"
#include "harness/report/text/profile_summary.hpp"
#include "harness/report/text/projection_text.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/sample_profile.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

// Two convolution blocks that differ in one number in the middle.
const std::string kBlock = "forward.conv_block_g32mb1ic256ih100oc256oh100kh3ph1_norm_relu";
const std::string kOther = "forward.conv_block_g32mb1ic512ih100oc256oh100kh3ph1_norm_relu";

}  // namespace

TEST_CASE("a name loses its middle, never half a character", "[columns]") {
  CHECK(cut_middle("short", 5) == "short");
  CHECK(cut_middle("abcdefghij", 9) == "abc...hij");
  CHECK(cut_middle("abcdefghij", 8) == "abc...ij");
  CHECK(cut_middle("äöüäöüäöü", 7) == "äö...öü");
  CHECK(cut_middle("a\nb", 20) == "a\\x0ab");
}

TEST_CASE("a name wider than its column has a line of its own", "[columns]") {
  CHECK(named_row("name", 6, "| 1", 80) == "name  | 1\n");
  CHECK(named_row("a longer name", 6, "| 1", 80) == "a longer name\n      | 1\n");
  CHECK(named_row("a longer name", 6, "| 1", 10) == "a lo...ame\n      | 1\n");
}

TEST_CASE("long names of modules stay apart in terminals of 80 to 120 columns", "[columns]") {
  Profile profile;
  static_cast<Result&>(profile) = sample_result();
  profile.tables = sample_tables();
  profile.tables.operators[0].module = kBlock;
  profile.tables.operators[1].module = kOther;
  ProjectionReport report;
  report.library = "oneDNN";
  for (const std::string& name : {kBlock, kOther}) {
    ProjectedPart& part = report.projection.parts.emplace_back();
    part.name = name;
    part.recorded_seconds = part.projected_seconds = 1;
  }
  for (const std::size_t columns : {80, 100, 120}) {
    INFO(columns);
    const std::string summary = render_summary(profile, columns);
    const std::string projection = render_projection(report, profile, columns);
    for (const std::string& text : {summary, projection}) {
      CAPTURE(text);
      // The verdict below the tables is set for 100 columns.
      const std::string tables = text.substr(0, text.find("\nstatus "));
      CHECK(badly_set(tables, static_cast<std::ptrdiff_t>(columns)) == std::vector<std::string>{});
      CHECK_THAT(text, Catch::Contains(kBlock) && Catch::Contains(kOther));
    }
  }
}

TEST_CASE("columns of a comparison never run together", "[columns][compare]") {
  Comparison comparison;
  comparison.names = {"a", std::string(100, 'x') + "/after"};
  comparison.runs = {5, 5};
  comparison.hours = {5, 5};
  comparison.doubts = {"", ""};
  ComparedRow& row = comparison.rows.emplace_back();
  row.name = "throughput.samples";
  row.unit = "samples/s";
  row.values = {Interval{1234.5, 1229.8, 1238.3, 0.95}, Interval{1234.5, 1229.8, 1238.3, 0.95}};
  row.changes = {std::nullopt, Interval{1, 0.99, 1.01, 0.95}};
  const std::string text = render_comparison(comparison);
  CAPTURE(text);
  CHECK_THAT(text, Catch::Contains("]  B/A") || Catch::Contains("]\n"));
  CHECK_THAT(text, !Catch::Contains("]B/A"));
  CHECK_THAT(text, Catch::Contains("/after  (5 runs in 5 hours)"));
}
