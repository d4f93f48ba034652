// The table of all results: what stands first, and what is left out.
#include "harness/report/page/html_results.hpp"

#include <catch2/catch.hpp>

#include "tests/support/sample_suite.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

PageTable table_of(const std::vector<std::pair<std::string, Result>>& files) {
  ReportCollector collector;
  for (const auto& [name, run] : files) collector.add(name, validated(run), {});
  return results_section(collector.finish()).tables.at(0);
}

std::vector<std::string> titles(const PageTable& table) {
  std::vector<std::string> names;
  for (const PageColumn& column : table.columns) names.push_back(column.title);
  return names;
}

}  // namespace

TEST_CASE("files have the folder that all lie in", "[report]") {
  CHECK(common_folder({}).empty());
  CHECK(common_folder({"a.json", "b.json"}).empty());
  CHECK(common_folder({"runs/a.json", "runs/b.json"}) == "runs/");
  CHECK(common_folder({"/x/run-1/a.json", "/x/run-2/a.json"}) == "/x/");
  CHECK(common_folder({"/x/a/b.json"}) == "/x/a/");
  CHECK(common_folder({"/a.json", "b.json"}).empty());
  // The beginning of a name is no folder.
  CHECK(common_folder({"x/run", "x/run/a.json"}) == "x/");
}

TEST_CASE("the table of results begins with what a reader looks for", "[report]") {
  Result other = sample_query_run("run-2", "classify", "offline");
  other.rules.tier = "standard";
  other.identity.git_commit = std::string(40, 'f');
  other.system["fingerprint"] = std::string(64, 'e');
  const PageTable table =
      table_of({{"runs/a.json", sample_query_run("run-1", "classify", "single-stream")},
                {"runs/deep/b.json", other}});
  CHECK(titles(table) == std::vector<std::string>{"workload", "figure", "quality", "status",
                                                  "stack", "tier", "started (UTC)", "machine",
                                                  "commit", "file"});
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0][0].text == "classify/single-stream");
  CHECK(table.rows[0][0].target == "run-1");
  CHECK(table.rows[0][1].text == "latency.p90 4.00 ms");
  CHECK(table.rows[0][1].key == Approx(0.004));
  CHECK(table.rows[0][9].text == "a.json");
  CHECK(table.rows[1][9].text == "deep/b.json");
  CHECK_THAT(table.note, Catch::StartsWith("Files lie in runs/."));
}

TEST_CASE("what all results share is said once below them", "[report]") {
  const Result first = sample_query_run("run-1", "classify", "single-stream");
  const Result second = sample_query_run("run-2", "classify", "offline");
  const PageTable table = table_of({{"a.json", first}, {"b.json", second}});
  CHECK(titles(table) == std::vector<std::string>{"workload", "figure", "quality", "status",
                                                  "stack", "started (UTC)", "file"});
  for (const std::vector<PageCell>& row : table.rows) CHECK(row.size() == table.columns.size());
  CHECK_THAT(table.note, Catch::StartsWith("The same for all: tier quick, machine unknown, commit "
                                           "0123456."));
  // One alone shares nothing.
  CHECK(table_of({{"a.json", first}}).columns.size() == 10);
}
