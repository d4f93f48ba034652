#include "harness/gate/judge_quality.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/sides.hpp"

namespace harness {

std::size_t judged_runs(const Side& side) {
  return static_cast<std::size_t>(
      std::count_if(side.runs.begin(), side.runs.end(), [](const Result& run) {
        return missed_quality(run) || (run.quality && run.quality->passed.has_value());
      }));
}

GateRow target_row(const GateTask& task) {
  const Side& candidate = task.candidate;
  const auto missed = static_cast<std::size_t>(
      std::count_if(candidate.runs.begin(), candidate.runs.end(), missed_quality));
  const QualityReport first = candidate.runs.front().quality.value_or(QualityReport{});
  GateRow row;
  row.tag = called(task, "quality target");
  row.group = GateGroup::kQuality;
  row.direction = first.quality.direction;
  row.n = judged_runs(candidate);
  row.verdict = missed > 0 ? Verdict::kRegressed : Verdict::kSame;
  row.note = fmt::format("{}: {} of {} runs of the candidate met their target",
                         printable(first.quality.metric, 60), row.n - missed, row.n);
  return row;
}

void judge_quality(const GateTask& task, GateReport& report) {
  const auto& [name, baseline, candidate] = task;
  const std::size_t before = judged_runs(baseline);
  const std::size_t now = judged_runs(candidate);
  if (before + now == 0) return;
  // Of sides in lockstep one evaluation stands for all.
  const bool all = before == baseline.runs.size() && now == candidate.runs.size();
  const bool alike = baseline.runs.front().rules.lockstep && now > 0 && before > 0;
  if (!all && !alike) {
    throw Error(name.empty() ? "gate" : name, "some runs checked their quality, others did not",
                "measure all of them with the quality check");
  }
  report.rows.push_back(target_row(task));
}

}  // namespace harness
