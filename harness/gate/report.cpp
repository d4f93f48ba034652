#include "harness/gate/report.hpp"

#include "harness/gate/differences.hpp"

#include <algorithm>

namespace harness {
namespace {

/// Precondition: there are rows.
Verdict overall(const GateReport& report) { return rows_by_weight(report).front().verdict; }

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

const std::string& unit_of(const GateRow& row, const GateReport& report) {
  return row.counted.empty() ? report.unit : row.counted;
}

bool is_open(const GateRow& row) {
  return row.verdict == Verdict::kInconclusive && !row.alarm_only;
}

bool more_would_tell(const GateReport& report) {
  return report.forbidding.empty() && exit_code(report, false) == ExitCode::kInconclusive &&
         std::any_of(report.rows.begin(), report.rows.end(),
                     [](const GateRow& row) { return is_open(row) && row.slow; });
}

bool rules_alone_forbid(const GateReport& report) {
  const bool regressed =
      std::any_of(report.rows.begin(), report.rows.end(),
                  [](const GateRow& row) { return row.verdict == Verdict::kRegressed; });
  return !report.forbidding.empty() && !regressed &&
         std::all_of(
             report.forbidding.begin(), report.forbidding.end(), [](const GateDifference& one) {
               return is_difference_in(one, kRulesDiffer) || is_difference_in(one, kChecksDiffer) ||
                      is_difference_in(one, kBaselineOlder);
             });
}

std::string verdict_word(const GateRow& row) {
  if (row.alarm_only && row.verdict == Verdict::kInconclusive) return "no alarm";
  const bool better = row.verdict == Verdict::kFaster && row.group != GateGroup::kPerformance;
  return better ? "better" : to_text(row.verdict);
}

std::string overall_word(const GateReport& report) {
  if (!report.forbidding.empty()) return report.rules_accepted ? "new baseline" : "not comparable";
  return report.rows.empty() ? "nothing to compare" : to_text(overall(report));
}

std::optional<GateRow> deciding_row(const GateReport& report) {
  if (!report.forbidding.empty() || report.rows.empty()) return std::nullopt;
  return rows_by_weight(report).front();
}

std::vector<GateRow> rows_by_weight(const GateReport& report) {
  std::vector<GateRow> rows = report.rows;
  const auto weight = [](const GateRow& row) {
    switch (row.verdict) {
      case Verdict::kRegressed:
        return 0;
      case Verdict::kInconclusive:
        return row.alarm_only ? 3 : 1;
      default:
        return 2;
    }
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const GateRow& a, const GateRow& b) { return weight(a) < weight(b); });
  return rows;
}

ExitCode exit_code(const GateReport& report, bool inconclusive_passes) {
  if (!report.forbidding.empty()) {
    return report.rules_accepted ? ExitCode::kOk : ExitCode::kInconclusive;
  }
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

}  // namespace harness
