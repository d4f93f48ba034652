#include "harness/kinds/suite/suite.hpp"

#include <algorithm>
#include <cmath>

#include "harness/result/common_json.hpp"

namespace harness {
namespace {

/// Why a task of ours cannot count, whatever the reference says; empty when it can.
std::string hindrance(const SuiteTask& task) {
  if (!task.run) return task.no_run;
  if (task.run->state != RunState::kValid) return "its run is " + to_text(task.run->state);
  if (task.quality && !task.quality->passed.value_or(true)) return "its quality target was missed";
  if (!task.figure) return task.no_figure;
  return "";
}

/// Why `theirs`, null where the reference has none, is no measure for `task`; empty when it is.
std::string misfit(const SuiteTask& task, const SuiteTask* theirs) {
  if (theirs == nullptr) return "the reference has no such run";
  if (!counts(*theirs)) return "the reference's own run does not count";
  const Figure& figure = *theirs->figure;
  if (figure.tag != task.figure->tag || figure.unit != task.figure->unit ||
      figure.direction != task.figure->direction) {
    return "the reference has " + figure_text(figure) + " in its place";
  }
  if (theirs->run->rules_version != task.run->rules_version) {
    return "the reference was measured under version " + theirs->run->rules_version +
           " of its rules";
  }
  return ratio_of(*task.figure, figure.value) ? "" : "no ratio can be formed of the figures";
}

}  // namespace

std::optional<double> share_of_fp32(const SuiteQuality& quality) {
  if (!quality.value || !quality.fp32 || *quality.fp32 <= 0) return std::nullopt;
  if (quality.direction != Direction::kHigher) return std::nullopt;
  return *quality.value / *quality.fp32;
}

std::string name_of(const SuiteTask& task) { return task.workload + "/" + task.scenario; }

bool counts(const SuiteTask& task) { return hindrance(task).empty(); }

std::optional<double> ratio_of(const Figure& figure, double reference) {
  const double ratio =
      figure.direction == Direction::kHigher ? figure.value / reference : reference / figure.value;
  const bool sound = figure.value > 0 && reference > 0 && std::isfinite(ratio) && ratio > 0;
  return sound ? std::optional(ratio) : std::nullopt;
}

void compare_with(const Suite* reference, Suite& suite) {
  for (SuiteTask& task : suite.tasks) {
    task.reference.reset();
    task.ratio.reset();
    task.no_ratio = hindrance(task);
    if (!task.no_ratio.empty()) continue;
    if (reference == nullptr) {
      task.no_ratio = "there is no reference";
      continue;
    }
    // A percentile is estimated the more carefully, the fewer queries there are.
    if (reference->rules.tier != suite.rules.tier) {
      task.no_ratio = "the reference is of tier '" + reference->rules.tier + "'";
      continue;
    }
    const auto same =
        std::find_if(reference->tasks.begin(), reference->tasks.end(),
                     [&](const SuiteTask& other) { return name_of(other) == name_of(task); });
    const SuiteTask* theirs = same == reference->tasks.end() ? nullptr : &*same;
    task.no_ratio = misfit(task, theirs);
    if (!task.no_ratio.empty()) continue;
    task.reference = theirs->figure->value;
    task.ratio = ratio_of(*task.figure, *task.reference);
  }
}

SuiteScore score_of(const Suite& suite) {
  SuiteScore score;
  double logarithms = 0;
  for (const SuiteTask& task : suite.tasks) {
    if (task.ratio) {
      score.counted.push_back(name_of(task));
      logarithms += std::log(*task.ratio);
    } else {
      score.missing.push_back({name_of(task), task.no_ratio});
    }
  }
  if (!score.counted.empty()) {
    score.value = std::exp(logarithms / static_cast<double>(score.counted.size()));
  } else {
    score.reason =
        suite.reference ? "no task can be held against the reference" : suite.no_reference;
  }
  return score;
}

}  // namespace harness
