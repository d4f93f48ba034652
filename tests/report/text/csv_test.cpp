// Results as tables for other programs.
#include "harness/report/text/csv.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "harness/compare/comparison.hpp"
#include "harness/report/text/comparison_text.hpp"
#include "harness/report/text/result_tables.hpp"
#include "tests/support/csv_cells.hpp"
#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("values are quoted where a reader would take them apart", "[csv]") {
  CsvTable table({"a", "b"});
  table.add({"plain", "two, parts"});
  table.add({"say \"no\"", "line\nbreak"});
  table.add({"", csv_number(std::nullopt)});
  table.add({csv_number(0.1), csv_number(1e300)});
  CHECK(table.text() ==
        "a,b\nplain,\"two, parts\"\n\"say \"\"no\"\"\",\"line\nbreak\"\n,\n0.1,1e+300\n");
  CHECK_THROWS_AS(table.add({"one"}), std::logic_error);
}

TEST_CASE("each metric of each run is a row that says whose it is", "[csv]") {
  std::vector<Result> runs = {sample_result(), sample_result()};
  runs[1].identity.run_index = 2;
  runs[1].kernels = {{"conv-block", "custom"}, {"focal-loss", "reference"}};
  const std::string csv = metrics_csv(runs);
  // Two kernels make one value with a comma in it.
  CHECK_THAT(csv, Catch::Contains("\"conv-block=custom,focal-loss=reference\""));
  const auto rows = cells(metrics_csv({runs.data(), 1}));
  REQUIRE(rows.size() == 1 + runs[0].metrics.size());
  for (const auto& row : rows) CHECK(row.size() == rows[0].size());
  const Summary& steps = runs[0].metrics[0].summary;
  CHECK(cell(rows, 1, "name") == "time.step");
  CHECK(cell(rows, 1, "unit") == "s");
  CHECK(cell(rows, 1, "direction") == "lower");
  CHECK(cell(rows, 1, "n") == "6");
  CHECK(cell(rows, 1, "median") == csv_number(steps.median->center));
  CHECK(cell(rows, 1, "p25") == csv_number(steps.quartiles.value().low));
  CHECK(cell(rows, 1, "p75") == csv_number(steps.quartiles.value().high));
  CHECK(cell(rows, 1, "p99").empty());
  CHECK(cell(rows, 2, "name") == "loss.total");
  CHECK(cell(rows, 2, "workload") == "null");
  CHECK(cell(rows, 2, "kernels") == "focal-loss=reference");
  CHECK(cell(rows, 2, "run") == runs[0].identity.uuid);
  CHECK(cell(rows, 2, "status") == "valid");
}

TEST_CASE("each quantity of each side of a comparison is a row", "[csv]") {
  Comparison comparison;
  comparison.workload = "null";
  comparison.names = {"before", "after"};
  comparison.runs = {3, 4};
  comparison.hours = {2, 1};
  comparison.doubts = {"", ""};
  ComparedRow& row = comparison.rows.emplace_back();
  row.name = "time.step";
  row.unit = "s";
  row.values = {Interval{2, 1.9, 2.1, 0.95}, Interval{1, {}, {}, 0}};
  row.changes = {std::nullopt, Interval{0.5, 0.45, 0.55, 0.95}};
  const auto rows = cells(comparison_csv(comparison));
  REQUIRE(rows.size() == 3);
  CHECK(cell(rows, 1, "side") == "A");
  CHECK(cell(rows, 1, "low") == "1.9");
  CHECK(cell(rows, 1, "hours") == "2");
  CHECK(cell(rows, 1, "change").empty());
  CHECK(cell(rows, 2, "path") == "after");
  CHECK(cell(rows, 2, "runs") == "4");
  CHECK(cell(rows, 2, "median") == "1");
  CHECK(cell(rows, 2, "low").empty());
  CHECK(cell(rows, 2, "change") == "0.5");
  CHECK(cell(rows, 2, "verdict") == "differs");
  CHECK(cell(rows, 2, "section") == "performance");
}
