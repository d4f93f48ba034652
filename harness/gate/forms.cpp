#include "harness/gate/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/text.hpp"
#include "harness/gate/escape.hpp"
#include "harness/gate/markdown_form.hpp"
#include "harness/gate/report_json.hpp"
#include "harness/gate/row_text.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kColumns = 100;
constexpr std::size_t kLongest = 4000;

std::string labelled(const char* label, const std::string& text) {
  return wrap(fmt::format("{:<10}{}", label, text), kColumns, 10) + "\n";
}

std::string differences_text(const char* label, const std::vector<GateDifference>& differences) {
  std::string text;
  for (const GateDifference& difference : differences) {
    text += labelled(label, fmt::format("{}: {} | {}", printable(difference.name, 60),
                                        printable(difference.baseline, 90),
                                        printable(difference.candidate, 90)));
    label = "";
  }
  return text;
}

std::string xml(const std::string& text) {
  return character_references(printable(text, kLongest), "&<>\"'");
}

std::string row_sentence(const GateRow& row) {
  const std::string more = remarks(row);
  return fmt::format("{}: {} | {}, times as good {}, n {}, margin {:g} %{}{}", verdict_word(row),
                     value_text(row, row.baseline), value_text(row, row.candidate),
                     improvement_text(row), row.n, row.margin * 100, more.empty() ? "" : "; ",
                     more);
}

std::string test_case(const std::string& subject, const GateRow& row, bool inconclusive_passes) {
  const std::string head =
      fmt::format(R"(    <testcase classname="{}" name="{}")", xml(subject), xml(row.tag));
  const std::string message = xml(row_sentence(row));
  if (is_open(row) && inconclusive_passes) {
    return fmt::format("{}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", head, message);
  }
  if (row.verdict == Verdict::kRegressed || is_open(row)) {
    return fmt::format(
        "{}>\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n", head,
        to_text(row.verdict), message, xml(row.repeat));
  }
  return fmt::format("{}>\n      <system-out>{}\nagain: {}</system-out>\n    </testcase>\n", head,
                     message, xml(row.repeat));
}

std::string render_junit(const GateReport& report, bool inconclusive_passes) {
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
    if (report.rules_accepted) shown.rows.back().verdict = Verdict::kSame;
  }
  const auto count = [&](Verdict verdict) {
    return std::count_if(shown.rows.begin(), shown.rows.end(),
                         [&](const GateRow& row) { return row.verdict == verdict; });
  };
  const auto unclear = std::count_if(shown.rows.begin(), shown.rows.end(), is_open);
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

/// What is longer than its column has a line for itself.
std::string name_cell(const GateRow& row) {
  constexpr std::size_t kWidth = 20;
  const std::string name = printable(row.tag, kColumns - 1);
  return name.size() <= kWidth ? name : name + "\n" + std::string(kWidth, ' ');
}

std::string render_text(const GateReport& report) {
  std::string text = labelled("gate", printable(report.subject));
  text += labelled("baseline", printable(report.baseline, 400));
  text += labelled("candidate", printable(report.candidate, 400));
  text += differences_text("differ", report.differences);
  text += differences_text("FORBIDS", report.forbidding);
  if (!report.forbidding.empty()) {
    text += labelled("", "these change the work itself: keep them equal on both sides");
  }
  if (!report.method.empty()) text += labelled("method", report.method);
  if (!report.rows.empty()) {
    text += fmt::format("\n{:<20} {:>12} {:>12}  {:<25} {:>4} {:>7}  {}\n", "metric", "baseline",
                        "candidate", "times as good", "n", "margin", "verdict");
  }
  for (const GateRow& row : rows_by_weight(report)) {
    const std::string margin = row.margin > 0 ? fmt::format("{:.2g} %", row.margin * 100) : "-";
    text += fmt::format("{:<20} {:>12} {:>12}  {:<25} {:>4} {:>7}  {}\n", name_cell(row),
                        value_text(row, row.baseline), value_text(row, row.candidate),
                        improvement_text(row), row.n, margin, verdict_word(row));
    const std::string more = remarks(row);
    if (!more.empty()) text += wrap(fmt::format("  {}", printable(more)), kColumns, 2) + "\n";
  }
  text += "\n";
  for (const std::string& note : report.notes) text += labelled("note", printable(note, 400));
  text += labelled("verdict", overall_word(report));
  if (!report.repeat.empty()) {
    // Unbroken, to be copied.
    text += fmt::format("to repeat this (for one row alone add --metric METRIC):\n{}\n",
                        printable(report.repeat, 4000));
  }
  return text + kUnverifiedNotice + "\n";
}

}  // namespace

std::string render_gate(const GateReport& report, const std::string& format,
                        bool inconclusive_passes) {
  if (format == "markdown") return render_markdown(report);
  if (format == "junit") return render_junit(report, inconclusive_passes);
  if (format != "json") return render_text(report);
  return to_json(report, inconclusive_passes).dump(2, ' ', false, json::error_handler_t::replace) +
         "\n";
}

std::string render_gate_error(const std::string& format, const Error& error) {
  const std::string what = error.what();
  if (format == "markdown") return markdown_error(what);
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
    const json document = {{"kind", "gate"},
                           {"notice", kUnverifiedNotice},
                           {"verdict", "error"},
                           {"error", what},
                           {"exit_code", static_cast<int>(error.code())}};
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  }
  return printable(what, kLongest) + "\n";
}

}  // namespace harness
