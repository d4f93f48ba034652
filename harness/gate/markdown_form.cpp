#include "harness/gate/markdown_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/gate/escape.hpp"
#include "harness/gate/row_text.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostRows = 10;
constexpr std::size_t kMostNotes = 20;
/// Leaves room for what ends the page.
constexpr std::size_t kMostBody = kMostMarkdown - 1024;
constexpr std::size_t kName = 80;
constexpr std::size_t kSentence = 1000;
constexpr std::size_t kRemark = 400;
constexpr std::size_t kCommand = 4000;

/// No markup, no HTML, no end of a table's cell, in one line.
std::string plain(const std::string& text, std::size_t most) {
  return character_references(printable(text, most), "&<>|`*_[]\\#!@~$");
}

/// To be copied.
std::string copied(const std::string& text) {
  return "<pre>" + character_references(printable(text, kCommand), "&<>`@#") + "</pre>\n";
}

const char* sign_of(const GateReport& report) {
  switch (exit_code(report, false)) {
    case ExitCode::kOk:
      return "🟢";
    case ExitCode::kRegression:
      return "🔴";
    default:
      return "🟡";
  }
}

/// Takes parts as long as there is room.
class Page {
 public:
  void add(const std::string& part) {
    if (text_.size() + part.size() > kMostBody) {
      ++left_out_;
    } else {
      text_ += part;
    }
  }
  /// Ends the page with `end`, short and with room of its own.
  std::string finish(const std::string& end) {
    if (left_out_ > 0) {
      text_ += fmt::format("\nNo room for {} more.\n",
                           format_count(static_cast<long long>(left_out_), "part"));
    }
    return std::move(text_) + end;
  }

 private:
  std::string text_{};
  std::size_t left_out_ = 0;
};

std::string table_row(const GateRow& row) {
  const bool alarm = row.verdict == Verdict::kRegressed ||
                     (row.verdict == Verdict::kInconclusive && !row.alarm_only);
  const std::string word = alarm ? fmt::format("**{}**", verdict_word(row)) : verdict_word(row);
  const std::string margin = row.margin > 0 ? fmt::format("{:g} %", row.margin * 100) : "-";
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", plain(row.tag, kName), word,
                     plain(improvement_text(row), kName), margin, row.n,
                     plain(value_text(row, row.baseline), kName),
                     plain(value_text(row, row.candidate), kName));
}

/// The rows from `begin` to `end`, with a head of their own.
void add_table(Page& page, const std::vector<GateRow>& rows, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  page.add(
      "| metric | verdict | times as good | margin | n | baseline | candidate |\n"
      "|---|---|---|---:|---:|---:|---:|\n");
  for (std::size_t i = begin; i < end; ++i) page.add(table_row(rows[i]));
  page.add("\n");
}

void add_differences(Page& page, const char* title, const std::vector<GateDifference>& list) {
  if (list.empty()) return;
  page.add(fmt::format("{}\n\n", title));
  for (const GateDifference& one : list) {
    page.add(fmt::format("- {}: {} → {}\n", plain(one.name, kName), plain(one.baseline, kRemark),
                         plain(one.candidate, kRemark)));
  }
  page.add("\n");
}

void add_details(Page& page, const GateReport& report, const std::vector<GateRow>& rows) {
  page.add("baseline:\n\n" + copied(report.baseline) + "\ncandidate:\n\n" +
           copied(report.candidate) + "\n");
  add_table(page, rows, std::min(kMostRows, rows.size()), rows.size());
  for (const GateRow& row : rows) {
    const std::string more = remarks(row);
    if (more.empty()) continue;
    page.add(fmt::format("- {}: {}\n", plain(row.tag, kName), plain(more, kRemark)));
  }
  page.add("\n");
  add_differences(page, "Differs:", report.differences);
  add_differences(page, "Forbids a comparison:", report.forbidding);
  const std::size_t notes = std::min(report.notes.size(), kMostNotes);
  for (std::size_t i = 0; i < notes; ++i) {
    page.add(fmt::format("- {}\n", plain(report.notes[i], kRemark)));
  }
  if (notes < report.notes.size()) {
    page.add(fmt::format("- and {} more notes\n", report.notes.size() - notes));
  }
  if (!report.method.empty()) page.add(fmt::format("\n{}.\n", plain(report.method, kSentence)));
  if (!report.repeat.empty()) {
    page.add("\nTo repeat this (for one row alone add `--metric METRIC`):\n\n" +
             copied(report.repeat));
  }
}

}  // namespace

std::string render_markdown(const GateReport& report) {
  const std::vector<GateRow> rows = rows_by_weight(report);
  Page page;
  page.add(fmt::format("### Gate: {} {}\n\n{}\n\n{}\n\n", overall_word(report), sign_of(report),
                       plain(verdict_sentence(report), kSentence), plain(report.subject, kRemark)));
  add_table(page, rows, 0, std::min(kMostRows, rows.size()));
  page.add("<details>\n<summary>Commands, method and remarks</summary>\n\n");
  add_details(page, report, rows);
  return page.finish(fmt::format("\n</details>\n\n{}\n", kUnverifiedNotice));
}

std::string markdown_error(const std::string& what) {
  return fmt::format("### Gate: error\n\n{}\n", plain(what, kCommand));
}

}  // namespace harness
