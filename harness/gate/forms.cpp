#include "harness/gate/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kColumns = 100;
constexpr std::size_t kLongest = 4000;

std::string improvement_text(const GateRow& row) {
  if (!row.improvement) return "-";
  const Interval& improvement = *row.improvement;
  if (!improvement.low || !improvement.high) return fmt::format("{:.4f}", improvement.center);
  return fmt::format("{:.4f} [{:.4f}, {:.4f}]", improvement.center, *improvement.low,
                     *improvement.high);
}

std::string value_text(const GateRow& row, const std::optional<double>& value) {
  if (!value) return "-";
  return row.unit == "1" || row.unit.empty() ? fmt::format("{:.4g}", *value)
                                             : format_quantity(*value, row.unit);
}

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

/// `text` as plain words, each of `special` as a character reference.
std::string escaped(const std::string& text, std::string_view special) {
  std::string safe;
  for (const char letter : printable(text, kLongest)) {
    if (special.find(letter) == std::string_view::npos) {
      safe.push_back(letter);
    } else {
      safe += fmt::format("&#{};", static_cast<int>(letter));
    }
  }
  return safe;
}

/// No markup, no HTML, no end of a table's cell.
std::string markdown(const std::string& text) { return escaped(text, "&<>|`*_[]\\#!@~"); }

std::string xml(const std::string& text) { return escaped(text, "&<>\"'"); }

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

std::string render_markdown(const GateReport& report) {
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
    text += fmt::format("\nTo repeat this (for one row alone add --metric METRIC): {}\n",
                        markdown(report.repeat));
  }
  return text + fmt::format("\n{}\n", kUnverifiedNotice);
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
    text += fmt::format("{:<20} {:>12} {:>12}  {:<25} {:>4} {:>7}  {}\n", printable(row.tag, 40),
                        value_text(row, row.baseline), value_text(row, row.candidate),
                        improvement_text(row), row.n, margin, verdict_word(row));
    if (!row.note.empty())
      text += wrap(fmt::format("  {}", printable(row.note)), kColumns, 2) + "\n";
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

json to_json(const GateReport& report, bool inconclusive_passes) {
  const auto difference = [](const GateDifference& one) {
    return json{{"name", one.name}, {"baseline", one.baseline}, {"candidate", one.candidate}};
  };
  json rows = json::array();
  for (const GateRow& row : rows_by_weight(report)) {
    json object = {{"metric", row.tag},
                   {"unit", row.unit},
                   {"group", to_text(row.group)},
                   {"baseline", or_null(row.baseline)},
                   {"candidate", or_null(row.candidate)},
                   {"n", row.n},
                   {"margin", row.margin},
                   {"verdict", to_text(row.verdict)},
                   {"note", row.note},
                   {"repeat", row.repeat}};
    object["improvement"] = json();
    if (row.improvement) {
      object["improvement"] = {{"median", row.improvement->center},
                               {"low", or_null(row.improvement->low)},
                               {"high", or_null(row.improvement->high)},
                               {"confidence", row.improvement->confidence}};
    }
    rows.push_back(std::move(object));
  }
  return {{"kind", "gate"},
          {"notice", kUnverifiedNotice},
          {"subject", report.subject},
          {"method", report.method},
          {"baseline", report.baseline},
          {"candidate", report.candidate},
          {"campaign", report.campaign},
          {"differences", list_json(report.differences, difference)},
          {"forbidding", list_json(report.forbidding, difference)},
          {"rows", std::move(rows)},
          {"notes", report.notes},
          {"verdict", overall_word(report)},
          {"exit_code", static_cast<int>(exit_code(report, inconclusive_passes))}};
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
