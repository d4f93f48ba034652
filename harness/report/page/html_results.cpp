#include "harness/report/page/html_results.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/shown_kind.hpp"

namespace harness {
namespace {

// Places of columns.
constexpr std::size_t kStatus = 3;
constexpr std::size_t kTier = 5;
constexpr std::size_t kMachine = 7;
constexpr std::size_t kCommit = 8;
constexpr std::size_t kFile = 9;

struct Entry {
  ReportLine line{};
  std::string target{};
};

std::vector<Entry> entries_of(const ReportData& data) {
  std::vector<Entry> entries;
  for_each_section(data, [&](const ReportItem& item, const std::string& target) {
    entries.push_back({line_of(item), target});
  });
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.line.started_at > b.line.started_at;
  });
  return entries;
}

std::vector<PageCell> row_of(const Entry& entry) {
  const ReportLine& line = entry.line;
  std::string when = line.started_at.substr(0, 16);
  std::replace(when.begin(), when.end(), 'T', ' ');
  const Headline& headline = line.headline;
  const std::string figure =
      headline.name.empty() ? headline.text : headline.name + " " + headline.text;
  return {{line.workload, {}, Tone::kPlain, entry.target},
          {figure.empty() ? "-" : figure, headline.value},
          {line.quality, line.quality_value},
          {line.status, {}, line.tone},
          {line.stack},
          {line.tier},
          {when},
          {line.machine},
          {line.commit},
          {line.file}};
}

/// What all rows but `others` have in the column `place`; empty where they differ.
std::string shared_text(const PageTable& table, std::size_t place, std::size_t others) {
  if (table.rows.size() < others + 2) return {};
  const std::string& first = table.rows[others][place].text;
  const bool same =
      std::all_of(table.rows.begin() + static_cast<std::ptrdiff_t>(others), table.rows.end(),
                  [&](const std::vector<PageCell>& row) { return row[place].text == first; });
  return same ? first : "";
}

void drop_column(PageTable& table, std::size_t place) {
  const auto at = static_cast<std::ptrdiff_t>(place);
  table.columns.erase(table.columns.begin() + at);
  for (std::vector<PageCell>& row : table.rows) row.erase(row.begin() + at);
}

}  // namespace

std::string common_folder(const std::vector<std::string>& files) {
  if (files.empty()) return {};
  std::string folder = files.front();
  for (const std::string& file : files) {
    const auto differs = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
    folder.erase(differs.first, folder.end());
  }
  return folder.substr(0, folder.rfind('/') + 1);
}

PageSection results_section(const ReportData& data) {
  PageSection section{.id = "summary", .title = "Results"};
  PageTable table{.caption = "All results, latest first"};
  table.columns = {{"workload"}, {"figure", true},  {"quality", true}, {"status"}, {"stack"},
                   {"tier"},     {"started (UTC)"}, {"machine"},       {"commit"}, {"file"}};
  for (const ReportFile& file : data.rejected) {
    std::vector<PageCell> row(table.columns.size(), PageCell{"-"});
    row[kStatus] = {printable(file.summary), {}, Tone::kBad, "files"};
    row[kFile] = {printable(file.name)};
    table.rows.push_back(std::move(row));
  }
  for (const Entry& entry : entries_of(data)) table.rows.push_back(row_of(entry));
  std::vector<std::string> files;
  for (const std::vector<PageCell>& row : table.rows) files.push_back(row[kFile].text);
  const std::string folder = common_folder(files);
  for (std::vector<PageCell>& row : table.rows) row[kFile].text.erase(0, folder.size());
  limit_rows(table);
  std::vector<std::string> notes;
  if (!table.note.empty()) notes.push_back(table.note);
  std::vector<std::string> shared;
  // From the last one on: the places of those before stay as they are.
  for (const std::size_t place : {kCommit, kMachine, kTier}) {
    const std::string text = shared_text(table, place, data.rejected.size());
    if (text.empty()) continue;
    shared.insert(shared.begin(), table.columns[place].title + " " + text);
    drop_column(table, place);
  }
  if (!shared.empty()) notes.push_back("The same for all: " + join(shared, ", ") + ".");
  if (!folder.empty()) notes.push_back("Files lie in " + folder + ".");
  notes.push_back(
      "In round brackets the quartiles of a run's samples, its own spread; in square ones a 95 % "
      "interval.");
  table.note = join(notes, " ");
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace harness
