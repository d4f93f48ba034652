#include "harness/gate/judge_hours.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/compare/occasions.hpp"
#include "harness/gate/judge_pairs.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

GateRow hours_row(const GateTask& task, const GateColumn& column, std::size_t metrics,
                  const GateOptions& options) {
  const UnpairedMetric metric{in_order(column.baseline), in_order(column.candidate),
                              column.direction, column.metric.margin};
  for (const auto* side : {&metric.base, &metric.candidate}) {
    if (side->size() <= kMostUnpaired) continue;
    throw Error("gate",
                fmt::format("{} hours on a side, {} are the most", side->size(), kMostUnpaired),
                "give fewer");
  }
  GateRow row =
      row_of(column, metric.base, metric.candidate, decide_unpaired(metric, metrics, options));
  if (row.n < kFewestHours) {
    row.note =
        fmt::format("each side needs runs from {} hours; the baseline has {}, the candidate {}",
                    kFewestHours, hours_text(task.baseline), hours_text(task.candidate));
  } else if (row.verdict == Verdict::kInconclusive) {
    row.note = "too noisy for these hours and this margin: more of them, or two commands in turn";
  }
  return row;
}

}  // namespace

void judge_hours(const std::vector<JudgedTask>& tasks, const GateOptions& options,
                 GateReport& report) {
  std::size_t metrics = 0;
  for (const auto& [task, columns] : tasks) metrics += columns.size();
  for (const auto& [task, columns] : tasks) {
    for (const GateColumn& column : columns) {
      report.rows.push_back(hours_row(*task, column, metrics, options));
    }
  }
  report.alarm_error = options.alarm;
  report.same_error = options.alarm;
  report.method = fmt::format(
      "runs that did not take turns, judged by the spread between their hours (Hodges and "
      "Lehmann's shift, Mann and Whitney's exact bounds); runs of one series, and of series that "
      "began within an hour, count once; {:g} % confidence for {} together",
      (1 - options.alarm) * 100, format_count(static_cast<long long>(metrics), "metric"));
}

}  // namespace harness
