// Results as tables for other programs.
#include "harness/report/text/csv.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "harness/base/text.hpp"
#include "harness/compare/comparison.hpp"
#include "harness/report/text/comparison_text.hpp"
#include "harness/report/text/result_tables.hpp"
#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

std::vector<std::vector<std::string>> cells(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(csv, '\n')) {
    if (!line.empty()) rows.push_back(split(line, ','));
  }
  return rows;
}

std::string cell(const std::vector<std::vector<std::string>>& rows, std::size_t row,
                 const std::string& column) {
  for (std::size_t i = 0; i < rows.at(0).size(); ++i) {
    if (rows[0][i] == column) return rows.at(row).at(i);
  }
  return "no column " + column;
}

}  // namespace

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

TEST_CASE("each variant of an ablation is a row with its ratios", "[csv]") {
  Ablation ablation;
  fill_common(ablation);
  ablation.settings.effective = {{"batch_size", 1}, {"threads", 2}};
  for (const char* name : {"first", "second"}) {
    Variant& variant = ablation.variants.emplace_back();
    variant.name = name;
    variant.settings = {{{"allocator", "pooled"}, {"precision", "bf16"}}, {{"matcher", "custom"}}};
    variant.median_seconds = 0.5;
    variant.turns = {{0, 0, 1, true, 1, {0.5}, {}}, {0, 0, 2, false, 1, {0.5}, {}}};
  }
  ablation.variants[1].to_first = {"first", Interval{2, 1.5, 2.5, 0.97}, ""};
  const auto rows = cells(variants_csv(ablation));
  REQUIRE(rows.size() == 3);
  for (const auto& row : rows) CHECK(row.size() == rows[0].size());
  CHECK(cell(rows, 1, "ratio_to_first").empty());
  CHECK(cell(rows, 2, "variant") == "second");
  CHECK(cell(rows, 2, "ratio_to_first") == "2");
  CHECK(cell(rows, 2, "ratio_to_first_low") == "1.5");
  CHECK(cell(rows, 2, "precision") == "bf16");
  CHECK(cell(rows, 2, "quality").empty());
  CsvTable table = metric_table();
  add_metric_rows(table, ablation, false);
  const auto metrics = cells(table.text());
  REQUIRE(metrics.size() == 3);
  CHECK(cell(metrics, 2, "variant") == "second");
  CHECK(cell(metrics, 2, "median") == "0.5");
  CHECK(cell(metrics, 2, "n") == "1");
  CHECK(cell(metrics, 2, "status") == "not valid");
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
