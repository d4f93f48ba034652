// The gate's report for other programs to show: Markdown in a pull request, JUnit in a CI server.
#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/gate/gate_report.hpp"
#include "harness/gate/gate_words.hpp"
#include "harness/result/result_common.hpp"

namespace harness {
namespace {

constexpr std::size_t kLongest = 4000;

/// `text` as plain words in Markdown: no markup, no HTML, no end of a table's cell.
std::string markdown(const std::string& text) {
  std::string safe;
  for (const char letter : printable(text, kLongest)) {
    if (std::string_view("&<>|`*_[]\\#!@~").find(letter) == std::string_view::npos) {
      safe.push_back(letter);
    } else {
      safe += fmt::format("&#{};", static_cast<int>(letter));
    }
  }
  return safe;
}

std::string xml(const std::string& text) {
  std::string safe;
  for (const char letter : printable(text, kLongest)) {
    if (std::string_view("&<>\"'").find(letter) == std::string_view::npos) {
      safe.push_back(letter);
    } else {
      safe += fmt::format("&#{};", static_cast<int>(letter));
    }
  }
  return safe;
}

std::string row_sentence(const GateRow& row) {
  return fmt::format("{}: {} | {}, times as good {}, n {}, margin {:g} %{}{}", verdict_word(row),
                     value_text(row, row.baseline), value_text(row, row.candidate),
                     improvement_text(row), row.n, row.margin * 100, row.note.empty() ? "" : "; ",
                     row.note);
}

std::string test_case(const std::string& subject, const GateRow& row, bool inconclusive_passes) {
  const std::string head =
      fmt::format(R"(    <testcase classname="{}" name="{}")", xml(subject), xml(row.tag));
  const std::string message = xml(row_sentence(row));
  if (row.verdict == Verdict::kInconclusive && inconclusive_passes) {
    return fmt::format("{}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", head, message);
  }
  if (row.verdict == Verdict::kRegressed || row.verdict == Verdict::kInconclusive) {
    return fmt::format(
        "{}>\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n", head,
        to_text(row.verdict), message, xml(row.repeat));
  }
  return fmt::format("{}>\n      <system-out>{}\nagain: {}</system-out>\n    </testcase>\n", head,
                     message, xml(row.repeat));
}

}  // namespace

std::string render_gate_markdown(const GateReport& report) {
  std::string text =
      fmt::format("### Gate: {}\n\n{}\n\n", overall_word(report), markdown(report.subject));
  text += fmt::format("baseline: {}  \ncandidate: {}\n\n", markdown(report.baseline),
                      markdown(report.candidate));
  const auto list = [&](const char* title, const std::vector<GateDifference>& differences) {
    if (differences.empty()) return;
    text += fmt::format("{}\n\n", title);
    for (const GateDifference& one : differences) {
      text += fmt::format("- {}: {} → {}\n", markdown(one.name), markdown(one.baseline),
                          markdown(one.candidate));
    }
    text += "\n";
  };
  list("Differs:", report.differences);
  list("Forbids a comparison:", report.forbidding);
  if (!report.rows.empty()) {
    text +=
        "| metric | baseline | candidate | times as good | n | margin | verdict |\n"
        "|---|---:|---:|---|---:|---:|---|\n";
  }
  for (const GateRow& row : rows_by_weight(report)) {
    const bool alarm = row.verdict == Verdict::kRegressed || row.verdict == Verdict::kInconclusive;
    const std::string word = alarm ? fmt::format("**{}**", verdict_word(row)) : verdict_word(row);
    const std::string margin = row.margin > 0 ? fmt::format("{:g} %", row.margin * 100) : "-";
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {}{}{} |\n", markdown(row.tag),
                        markdown(value_text(row, row.baseline)),
                        markdown(value_text(row, row.candidate)), markdown(improvement_text(row)),
                        row.n, margin, word, row.note.empty() ? "" : ": ", markdown(row.note));
  }
  text += "\n";
  for (const std::string& note : report.notes) text += fmt::format("- {}\n", markdown(note));
  if (!report.method.empty()) text += fmt::format("\n{}.\n", markdown(report.method));
  if (!report.repeat.empty()) {
    text +=
        fmt::format("\nAgain (with --metric METRIC a row alone): {}\n", markdown(report.repeat));
  }
  return text + fmt::format("\n{}\n", kUnverifiedNotice);
}

std::string render_gate_error(const std::string& format, const Error& error) {
  const std::string what = error.what();
  if (format == "markdown") return fmt::format("### Gate: error\n\n{}\n", markdown(what));
  if (format == "junit") {
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"harness "
        "gate\" "
        "tests=\"1\" failures=\"0\" skipped=\"0\" errors=\"1\">\n    <testcase "
        "classname=\"harness gate\" name=\"comparison\">\n      <error message=\"{}\"/>\n    "
        "</testcase>\n  </testsuite>\n</testsuites>\n",
        xml(what));
  }
  if (format == "json") {
    const nlohmann::json document = {{"kind", "gate"},
                                     {"notice", kUnverifiedNotice},
                                     {"verdict", "error"},
                                     {"error", what},
                                     {"exit_code", static_cast<int>(error.code())}};
    return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return printable(what, kLongest) + "\n";
}

std::string render_gate_junit(const GateReport& report, bool inconclusive_passes) {
  GateReport shown = report;
  if (shown.rows.empty()) {
    // A suite without a case would look like success.
    GateRow row;
    row.tag = "comparison";
    row.note = overall_word(report);
    for (const GateDifference& one : report.forbidding) {
      row.note += fmt::format("; {}: {} | {}", one.name, one.baseline, one.candidate);
    }
    shown.rows.push_back(std::move(row));
    inconclusive_passes = false;
  }
  const auto count = [&](Verdict verdict) {
    return std::count_if(shown.rows.begin(), shown.rows.end(),
                         [&](const GateRow& row) { return row.verdict == verdict; });
  };
  const auto unclear = count(Verdict::kInconclusive);
  const auto failures = count(Verdict::kRegressed) + (inconclusive_passes ? 0 : unclear);
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format(
      "<testsuites>\n  <testsuite name=\"harness gate\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\" errors=\"0\">\n",
      shown.rows.size(), failures, inconclusive_passes ? unclear : 0);
  for (const GateRow& row : rows_by_weight(shown)) {
    text += test_case(shown.subject, row, inconclusive_passes);
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace harness
