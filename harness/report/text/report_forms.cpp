#include "harness/report/text/report_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "harness/base/text.hpp"
#include "harness/gate/report_json.hpp"
#include "harness/gate/row_text.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/shown_kind.hpp"
#include "harness/report/text/result_tables.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/kind.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kColumns = 9;
using Row = std::array<std::string, kColumns>;

/// UTF-8 characters.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

Row row_of(const ReportLine& line) {
  std::string when = line.started_at.substr(0, 16);
  std::replace(when.begin(), when.end(), 'T', ' ');
  return {when,
          line.workload,
          line.tier,
          line.machine,
          line.commit,
          line.stack,
          line.headline.name.empty() ? "-" : line.headline.name + " " + line.headline.text,
          line.quality,
          line.status};
}

void add_rows(std::string& text, const std::vector<Row>& rows) {
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) {
      line += row[i];
      if (i + 1 < kColumns) line.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
}

void add_problems(std::string& text, const ReportFile& file) {
  if (file.problems.empty()) return;
  text += fmt::format("\n{}: {}\n", printable(file.name), printable(file.summary));
  for (const SchemaProblem& problem : file.problems) {
    text += "  " + problem_text(problem) + "\n";
  }
}

json problems_of(const ReportFile& file) {
  return list_json(file.problems, [](const SchemaProblem& problem) {
    return json{{"path", printable(problem.path)}, {"reason", printable(problem.reason, 400)}};
  });
}

json file_json(const ReportFile& file) {
  return {{"file", printable(file.name, 4096)},
          {"verdict", printable(file.summary)},
          {"problems", problems_of(file)},
          {"notes", file.notes}};
}

/// The verdict and what decided, or how to go on to one.
std::string campaign_text(const ReportCampaign& campaign) {
  const std::string word = campaign.ended ? overall_word(campaign.report) : "no verdict";
  const std::string why = campaign.ended ? verdict_sentence(campaign.report) : campaign.folder;
  std::string text =
      fmt::format("{}: {}\n  {}\n", printable(campaign.report.subject), word, printable(why, 400));
  if (campaign.ended) return text;
  for (const std::string& note : campaign.report.notes) {
    text += fmt::format("  note: {}\n", printable(note, kLongestNote));
  }
  return text;
}

json campaign_json(const ReportCampaign& campaign) {
  json item = to_json(campaign.report, false);
  item["folder"] = printable(campaign.folder, 4096);
  item["ended"] = campaign.ended;
  if (!campaign.ended) item["verdict"] = "no verdict";
  return item;
}

json result_json(const ReportItem& shown) {
  const ReportLine line = line_of(shown);
  json item = file_json(shown.file);
  item["kind"] = kind_of(*shown.result).name();
  item["run"] = shown.result->identity.uuid;
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

std::string render_report(const ReportData& data) {
  std::string text;
  for (const ReportCampaign& campaign : data.campaigns) text += campaign_text(campaign);
  std::vector<ReportLine> lines;
  for_each_result(data, [&](const ReportItem& one) { lines.push_back(line_of(one)); });
  std::stable_sort(lines.begin(), lines.end(), [](const ReportLine& a, const ReportLine& b) {
    return a.started_at < b.started_at;
  });
  if (!lines.empty()) {
    if (!text.empty()) text += "\n";
    std::vector<Row> rows = {{"started (UTC)", "workload", "tier", "machine", "commit", "stack",
                              "headline", "quality", "status"}};
    for (const ReportLine& line : lines) rows.push_back(row_of(line));
    add_rows(text, rows);
  }
  for_each_result(data, [&](const ReportItem& one) { add_problems(text, one.file); });
  for (const ReportFile& file : data.rejected) add_problems(text, file);
  if (!data.skipped.empty()) text += "\n";
  for (const ReportFile& file : data.skipped) {
    const std::string why = file.notes.empty() ? "" : printable(file.notes.front(), kLongestNote);
    text += fmt::format("skipped {}: {}\n", printable(file.name), why);
  }
  return text + kUnverifiedNotice + "\n";
}

json report_json(const ReportData& data) {
  json results = json::array();
  for_each_result(data, [&](const ReportItem& one) { results.push_back(result_json(one)); });
  return {{"campaigns", list_json(data.campaigns, campaign_json)},
          {"results", results},
          {"rejected", list_json(data.rejected, file_json)},
          {"skipped", list_json(data.skipped, file_json)},
          {"notice", kUnverifiedNotice}};
}

std::string report_csv(const ReportData& data) {
  CsvTable table = metric_table();
  for_each_result(data, [&](const ReportItem& one) {
    one.kind->add_rows(table, *one.result, one.file.problems.empty());
  });
  return table.text();
}

}  // namespace harness
