// The report for other programs: one JSON document, or a table.
#include <nlohmann/json.hpp>

#include "harness/base/text.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/text/result_tables.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

json problems_of(const ReportFile& file) {
  json list = json::array();
  for (const SchemaProblem& problem : file.problems) {
    list.push_back({{"path", printable(problem.path)}, {"reason", printable(problem.reason, 400)}});
  }
  return list;
}

json file_json(const ReportFile& file) {
  return {{"file", printable(file.name, 4096)},
          {"verdict", printable(file.summary)},
          {"problems", problems_of(file)},
          {"notes", file.notes}};
}

json result_json(const char* kind, const ReportLine& line, const ResultCommon& result,
                 const ReportFile& file) {
  json item = file_json(file);
  item["kind"] = kind;
  item["run"] = result.identity.uuid;
  item["started_at"] = line.started_at;
  item["workload"] = line.workload;
  item["tier"] = line.tier;
  item["machine"] = line.machine;
  item["commit"] = line.commit;
  item["stack"] = line.stack;
  item["headline"] = {{"name", line.headline.name},
                      {"text", line.headline.text},
                      {"value", or_null(line.headline.value)}};
  item["quality"] = line.quality;
  item["quality_value"] = or_null(line.quality_value);
  item["status"] = line.status;
  return item;
}

}  // namespace

json report_json(const ReportData& data) {
  json results = json::array();
  for (const ReportRun& one : data.runs) {
    results.push_back(result_json("run", line_of(one), one.result, one.file));
  }
  for (const ReportAblation& one : data.ablations) {
    results.push_back(result_json("ablation", line_of(one), one.result, one.file));
  }
  for (const ReportProfile& one : data.profiles) {
    results.push_back(result_json("profile", line_of(one), one.result, one.file));
  }
  json rejected = json::array();
  for (const ReportFile& file : data.rejected) rejected.push_back(file_json(file));
  json skipped = json::array();
  for (const ReportFile& file : data.skipped) skipped.push_back(file_json(file));
  return {{"results", results},
          {"rejected", rejected},
          {"skipped", skipped},
          {"notice", kUnverifiedNotice}};
}

std::string report_csv(const ReportData& data) {
  CsvTable table = metric_table();
  for (const ReportRun& one : data.runs) {
    add_metric_rows(table, one.result, "run", one.file.problems.empty());
  }
  for (const ReportAblation& one : data.ablations) {
    add_metric_rows(table, one.result, one.file.problems.empty());
  }
  for (const ReportProfile& one : data.profiles) {
    add_metric_rows(table, one.result, "profile", one.file.problems.empty());
  }
  return table.text();
}

}  // namespace harness
