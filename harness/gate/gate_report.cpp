#include "harness/gate/gate_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"
#include "harness/gate/gate_words.hpp"
#include "harness/result/result_common.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kColumns = 100;

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

}  // namespace

const char* to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kFaster:
      return "faster";
    case Verdict::kRegressed:
      return "regressed";
    case Verdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

const char* to_text(GateGroup group) {
  switch (group) {
    case GateGroup::kPerformance:
      return "performance";
    case GateGroup::kMemory:
      return "memory";
    case GateGroup::kQuality:
      break;
  }
  return "quality";
}

std::string verdict_word(const GateRow& row) {
  const bool better = row.verdict == Verdict::kFaster && row.group != GateGroup::kPerformance;
  return better ? "better" : to_text(row.verdict);
}

std::string overall_word(const GateReport& report) {
  if (!report.forbidding.empty()) return "not comparable";
  return report.rows.empty() ? "nothing to compare" : to_text(overall(report));
}

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

std::vector<GateRow> rows_by_weight(const GateReport& report) {
  std::vector<GateRow> rows = report.rows;
  const auto weight = [](const GateRow& row) {
    switch (row.verdict) {
      case Verdict::kRegressed:
        return 0;
      case Verdict::kInconclusive:
        return 1;
      default:
        return 2;
    }
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const GateRow& a, const GateRow& b) { return weight(a) < weight(b); });
  return rows;
}

Verdict overall(const GateReport& report) { return rows_by_weight(report).front().verdict; }

ExitCode exit_code(const GateReport& report, bool inconclusive_passes) {
  if (!report.forbidding.empty()) return ExitCode::kInconclusive;
  // Green must mean that something was compared.
  if (report.rows.empty()) return ExitCode::kUsage;
  switch (overall(report)) {
    case Verdict::kRegressed:
      return ExitCode::kRegression;
    case Verdict::kInconclusive:
      return inconclusive_passes ? ExitCode::kOk : ExitCode::kInconclusive;
    case Verdict::kSame:
    case Verdict::kFaster:
      return ExitCode::kOk;
  }
  return ExitCode::kInconclusive;
}

std::string render_gate_text(const GateReport& report) {
  std::string text = labelled("gate", printable(report.subject));
  text += labelled("baseline", printable(report.baseline, 400));
  text += labelled("candidate", printable(report.candidate, 400));
  text += differences_text("differ", report.differences);
  text += differences_text("FORBIDS", report.forbidding);
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
    text += fmt::format("again, or with --metric METRIC a row alone:\n{}\n",
                        printable(report.repeat, 4000));
  }
  return text + kUnverifiedNotice + "\n";
}

json to_json(const GateReport& report, bool inconclusive_passes) {
  const auto differences = [](const std::vector<GateDifference>& list) {
    json array = json::array();
    for (const GateDifference& one : list) {
      array.push_back(
          {{"name", one.name}, {"baseline", one.baseline}, {"candidate", one.candidate}});
    }
    return array;
  };
  const auto number = [](const std::optional<double>& value) {
    return value ? json(*value) : json();
  };
  json rows = json::array();
  for (const GateRow& row : rows_by_weight(report)) {
    json object = {{"metric", row.tag},
                   {"unit", row.unit},
                   {"group", to_text(row.group)},
                   {"baseline", number(row.baseline)},
                   {"candidate", number(row.candidate)},
                   {"n", row.n},
                   {"margin", row.margin},
                   {"verdict", to_text(row.verdict)},
                   {"note", row.note},
                   {"repeat", row.repeat}};
    object["improvement"] = json();
    if (row.improvement) {
      object["improvement"] = {{"median", row.improvement->center},
                               {"low", number(row.improvement->low)},
                               {"high", number(row.improvement->high)},
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
          {"differences", differences(report.differences)},
          {"forbidding", differences(report.forbidding)},
          {"rows", std::move(rows)},
          {"notes", report.notes},
          {"verdict", overall_word(report)},
          {"exit_code", static_cast<int>(exit_code(report, inconclusive_passes))}};
}

}  // namespace harness
