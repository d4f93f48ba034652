#include "harness/kinds/ablation/tables.hpp"

#include <catch2/catch.hpp>

#include "harness/report/text/result_tables.hpp"
#include "tests/support/csv_cells.hpp"
#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

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
