#include "harness/gate/row_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "harness/base/text.hpp"

namespace harness {
namespace {

/// What "same" rests on, and how often one side was slow. Empty where nothing was tested.
std::string details(const GateRow& row) {
  std::string text;
  if (row.same && row.same->low && row.same->high) {
    text = fmt::format("for \"same\" [{:.4f}, {:.4f}]", *row.same->low, *row.same->high);
  }
  if (!row.slow || row.n == 0) return text;
  text += fmt::format("{}slow in {} of {}, the baseline in {}", text.empty() ? "" : "; ",
                      row.slow->candidate, row.n, row.slow->baseline);
  if (!row.slow->excess_high) return text;
  return text + fmt::format(": at most {:.0f} % more often", 100 * *row.slow->excess_high);
}

/// "time.step is worse: 0.9699 [0.9611, 0.9790] times as good, margin 1.5 %".
std::string told(const GateRow& row, const char* what) {
  std::string text = row.tag + " " + what;
  if (!row.improvement) return text;
  text += ": " + improvement_text(row) + " times as good";
  return row.margin > 0 ? text + fmt::format(", margin {:g} %", row.margin * 100) : text;
}

const char* what_happened(const GateRow& row) {
  switch (row.verdict) {
    case Verdict::kRegressed:
      return "got worse";
    case Verdict::kFaster:
      return "got better";
    case Verdict::kSame:
      return "is the same";
    case Verdict::kInconclusive:
      break;
  }
  return "is not clear";
}

/// Of the rows beside the deciding one.
std::string told_of_others(const GateReport& report, const GateRow& decided) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> others;
  for (const GateRow& row : report.rows) {
    const bool quiet = row.verdict == Verdict::kSame || row.alarm_only;
    if (row.tag == decided.tag || (quiet && row.verdict != Verdict::kRegressed)) continue;
    others.push_back(row.tag + " " + verdict_word(row));
  }
  if (report.rows.size() < 2) return {};
  if (others.empty()) return " All else is the same.";
  const std::size_t more = others.size() - std::min(others.size(), kMostNamed);
  others.resize(others.size() - more);
  return " Besides: " + join(others, ", ") + (more > 0 ? fmt::format(" and {} more.", more) : ".");
}

}  // namespace

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

std::string remarks(const GateRow& row) {
  const std::string more = details(row);
  return row.note + (row.note.empty() || more.empty() ? "" : "; ") + more;
}

std::string verdict_sentence(const GateReport& report) {
  if (!report.forbidding.empty()) {
    const GateDifference& first = report.forbidding.front();
    const std::ptrdiff_t more = std::ssize(report.forbidding) - 1;
    const char* accepted = report.rules_accepted ? " The candidate was accepted as it is." : "";
    return fmt::format("The sides differ in {}: {} | {}{}.{}", first.name, first.baseline,
                       first.candidate,
                       more > 0 ? fmt::format(", and in {} more", more) : std::string(), accepted);
  }
  const std::optional<GateRow> row = deciding_row(report);
  if (!row) return "Nothing was judged.";
  std::string text = told(*row, what_happened(*row));
  const std::string& unit = unit_of(*row, report);
  if (!unit.empty() && row->n > 0 && row->improvement) {
    text += ", after " + format_count(static_cast<long long>(row->n), unit);
  }
  if (!row->note.empty()) text += " (" + row->note + ")";
  return text + "." + told_of_others(report, *row);
}

}  // namespace harness
