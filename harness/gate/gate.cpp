#include "harness/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/compare/occasions.hpp"
#include "harness/gate/differences.hpp"
#include "harness/gate/judge_hours.hpp"
#include "harness/gate/judge_pairs.hpp"
#include "harness/gate/judge_quality.hpp"
#include "harness/gate/sides.hpp"
#include "harness/gate/tasks.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr const char* kLosses = "losses";
constexpr const char* kAnchored = "anchor.";
// Rounding grows from step to step: so many times the tolerance of the first one.
constexpr double kLaterSteps = 10;

/// The times of the clusters, and what else is judged from the results.
std::vector<GateColumn> columns_of(const Side& baseline, const Side& candidate,
                                   const LockstepColumns& times,
                                   const std::vector<GatedMetric>& metrics) {
  std::vector<GateColumn> columns = times.columns(metrics);
  for (GateColumn& column : columns_of_results(baseline, candidate, metrics)) {
    columns.push_back(std::move(column));
  }
  return columns;
}

/// An anchor is there to raise an alarm; nothing waits for it.
void add_anchor(std::vector<GateColumn> columns, std::vector<GateColumn>& all) {
  for (GateColumn& column : columns) {
    column.metric.tag = kAnchored + column.metric.tag;
    column.metric.alarm_only = true;
    all.push_back(std::move(column));
  }
}

std::vector<GateColumn> lockstep_columns(const Side& baseline, const Side& candidate,
                                         const LockstepNumbers& lockstep, const GateRules& rules) {
  std::vector<GateColumn> columns =
      columns_of(baseline, candidate, lockstep.to_baseline, rules.lockstep.metrics);
  if (lockstep.anchor == nullptr) return columns;
  add_anchor(
      columns_of(*lockstep.anchor, candidate, lockstep.to_anchor, rules.lockstep.anchor_metrics),
      columns);
  return columns;
}

/// Known by the program's own hash, with all else of its build: its libraries, say. Files before
/// 1.8.0 have none, and what is not known to be the same may differ.
bool is_same_program(const Result& baseline, const Result& candidate) {
  const json before = baseline.system.value("build", json::object());
  return before.value("sha256", json()).is_string() &&
         before == candidate.system.value("build", json::object());
}

/// Equal bits settle it. Other bits are a regression where nothing differs that could explain them.
void judge_losses(const LossComparison& losses, const Result& baseline, const Result& candidate,
                  const GateRules& rules, GateReport& report) {
  if (losses.steps == 0 && losses.told_alike) return;
  if (baseline.seeds.run != candidate.seeds.run) {
    report.notes.push_back("the losses are not compared: the sides drew different seeds (--seed)");
    return;
  }
  // Two models under one task answer differently; how well is the quality's business.
  const auto model = [](const Result& run) {
    return run.settings.effective.value("model", json());
  };
  if (model(baseline) != model(candidate)) {
    report.notes.push_back("the losses are not compared: the sides run two models");
    return;
  }
  GateRow row;
  row.tag = kLosses;
  row.group = GateGroup::kQuality;
  row.n = losses.steps;
  const double tolerance = rules.lockstep.loss_tolerance;
  const double later_tolerance = kLaterSteps * tolerance;
  const bool same_program = is_same_program(baseline, candidate) && report.differences.empty();
  if (!losses.told_alike) {
    row.verdict = Verdict::kInconclusive;
    row.note = "the sides tell losses of other names, which cannot be compared";
  } else if (losses.equal == losses.steps) {
    row.verdict = Verdict::kSame;
    row.note = fmt::format("the same to the last bit in all {} steps", losses.steps);
  } else if (same_program) {
    row.verdict = Verdict::kRegressed;
    row.note = fmt::format("the same program with the same settings gives others in {} of {} steps",
                           losses.steps - losses.equal, losses.steps);
  } else {
    const bool near = losses.first_step <= tolerance && losses.any_step <= later_tolerance;
    row.verdict = near ? Verdict::kSame : Verdict::kRegressed;
    row.note = fmt::format(
        "differ by up to {:.2g} in the first step and {:.2g} later; {:g} and {:g} are allowed",
        losses.first_step, losses.any_step, tolerance, later_tolerance);
  }
  report.rows.push_back(std::move(row));
}

void note_mistrust(const Side& side, GateReport& report) {
  const auto count = std::count_if(side.runs.begin(), side.runs.end(),
                                   [](const Result& run) { return run.status.mistrusted; });
  if (count == 0) return;
  const auto first = std::find_if(side.runs.begin(), side.runs.end(),
                                  [](const Result& run) { return run.status.mistrusted; });
  const std::vector<std::string>& reasons = first->status.mistrust_reasons;
  report.notes.push_back(fmt::format("{}: {} of {} mistrusted: {}", printable(side.name), count,
                                     format_count(std::ssize(side.runs), "run"),
                                     reasons.empty() ? "no reason" : printable(reasons.front())));
}

/// What the report is about, in one line.
std::string subject_of(const std::vector<GateTask>& tasks) {
  const RulesReference& first = tasks.front().baseline.runs.front().rules;
  const std::string tier = ", tier " + printable(first.tier, 40);
  if (tasks.size() == 1 && tasks.front().name.empty()) {
    return printable(first.workload, 60) + " " + printable(first.version, 32) + tier;
  }
  std::vector<std::string> names;
  for (const GateTask& task : tasks) names.push_back(task.name);
  return join(names, ", ") + tier;
}

/// A task that is missing keeps the sides from being compared; of a new one there is nothing to
/// hold it to but its own target.
void tell_of_lone(const GateTask& task, GateReport& report) {
  const auto runs = [](const Side& side) { return format_count(std::ssize(side.runs), "run"); };
  if (task.candidate.runs.empty()) {
    report.forbidding.push_back({task.name, runs(task.baseline), "missing"});
    return;
  }
  report.notes.push_back(task.name + " is not judged: the baseline has no such runs");
  if (judged_runs(task.candidate) > 0) report.rows.push_back(target_row(task));
}

/// The tasks that both sides have. What there is of the others is told.
std::vector<GateTask> shared_tasks(std::vector<GateTask> tasks, GateReport& report) {
  const auto is_shared = [](const GateTask& task) {
    return !task.baseline.runs.empty() && !task.candidate.runs.empty();
  };
  for (const GateTask& task : tasks) {
    if (!is_shared(task)) tell_of_lone(task, report);
  }
  std::erase_if(tasks, [&](const GateTask& task) { return !is_shared(task); });
  return tasks;
}

void check_tasks(const std::vector<GateTask>& tasks, const GateRules& rules, GateReport& report) {
  for (const GateTask& task : tasks) {
    for (const Side* side : {&task.baseline, &task.candidate}) {
      if (!side->runs.empty()) check_gate_side(*side, rules.allow_debug, report);
    }
  }
}

/// Of a campaign in lockstep, which has one task alone, the times of its clusters.
std::vector<JudgedTask> numbers_of(const std::vector<GateTask>& tasks,
                                   const LockstepNumbers* lockstep, const GateRules& rules,
                                   bool paired) {
  std::vector<JudgedTask> judged;
  for (const GateTask& task : tasks) {
    const auto& [name, baseline, candidate] = task;
    if (baseline.runs.front().rules.lockstep && lockstep == nullptr) {
      throw Error(printable(baseline.name),
                  "its runs stepped in lockstep, and are judged as they run",
                  "run the campaign again: harness gate --ab-base ... --ab-cand ...",
                  ExitCode::kInconclusive);
    }
    std::vector<GateColumn> columns =
        lockstep != nullptr
            ? lockstep_columns(baseline, candidate, *lockstep, rules)
            : gate_columns(baseline, candidate, rules.of(baseline.runs.front()), paired);
    for (GateColumn& column : columns) column.metric.tag = called(task, column.metric.tag);
    judged.push_back({&task, std::move(columns)});
  }
  return judged;
}

std::vector<GateColumn> all_columns(const std::vector<JudgedTask>& tasks) {
  std::vector<GateColumn> all;
  for (const auto& [task, columns] : tasks) all.insert(all.end(), columns.begin(), columns.end());
  if (all.empty()) throw Error("gate", "there is no metric to judge", "see rules/gate.json");
  return all;
}

}  // namespace

GateReport gate_results(const Side& baseline, const Side& candidate, const GateRules& rules,
                        const std::optional<GatePlan>& plan, CampaignDecision* decision,
                        const LockstepNumbers* lockstep) {
  GateReport report;
  report.baseline = baseline.name;
  report.candidate = candidate.name;
  const std::vector<GateTask> all = tasks_of(baseline, candidate);
  check_tasks(all, rules, report);
  check_together(baseline, candidate);
  for (const GateTask& task : all) refuse_missed(task.baseline);
  const Result& first = baseline.runs.front();
  const bool paired = of_one_campaign(baseline, candidate);
  report.subject = subject_of(all);
  if (all.front().name.empty()) report.workload = first.rules.workload;
  if (paired) report.campaign = first.identity.campaign->id;
  const std::vector<GateTask> tasks = shared_tasks(all, report);
  find_task_differences(tasks, paired, report);
  if (!report.forbidding.empty()) {
    // Whatever cannot be compared, a candidate that missed its target is no new baseline.
    const bool missed = std::any_of(candidate.runs.begin(), candidate.runs.end(), missed_quality);
    if (!missed || !rules_alone_forbid(report)) return report;
    for (const GateTask& task : tasks) judge_quality(task, report);
    return report;
  }
  const std::vector<JudgedTask> judged = numbers_of(tasks, lockstep, rules, paired);
  const std::vector<GateColumn> columns = all_columns(judged);
  if (paired) {
    const CampaignDecision found =
        judge_pairs(columns, plan, rules.options, report, first.rules.lockstep);
    if (decision != nullptr) *decision = found;
  } else {
    judge_hours(judged, rules.options, report);
    const std::string apart = apart_text(baseline, candidate);
    if (!apart.empty()) report.notes.push_back(apart);
  }
  for (const GateTask& task : tasks) judge_quality(task, report);
  if (lockstep != nullptr) {
    judge_losses(lockstep->to_baseline.losses(), first, candidate.runs.front(), rules, report);
  }
  for (const GateTask& task : tasks) {
    note_mistrust(task.baseline, report);
    note_mistrust(task.candidate, report);
  }
  return report;
}

void judge_alone(const Side& baseline, const Side& candidate, const GateRules& rules,
                 GateReport& report) {
  for (const Side* side : {&baseline, &candidate}) {
    if (side->runs.empty()) continue;
    check_gate_side(*side, rules.allow_debug, report);
    // From itself it differs in nothing but what the gate asks for.
    find_differences(side->runs.front(), side->runs.front(), true, report);
  }
  refuse_missed(baseline);
  if (judged_runs(candidate) > 0) report.rows.push_back(target_row({"", baseline, candidate}));
  if (baseline.runs.empty() != candidate.runs.empty()) {
    const Side& silent = baseline.runs.empty() ? baseline : candidate;
    report.notes.push_back(
        fmt::format("nothing but times is compared: the {} is no harness run, and leaves no result",
                    printable(silent.name)));
  }
}

CampaignDecision gate_times(const LockstepNumbers& lockstep, const GateRules& rules,
                            const GatePlan& plan, GateReport& report) {
  const LockstepColumns& times = lockstep.to_baseline;
  report.subject = printable(times.baseline(), 60) + " against " + printable(times.candidate(), 60);
  std::vector<GateColumn> columns = times.columns(rules.lockstep.metrics);
  if (lockstep.anchor != nullptr) {
    add_anchor(lockstep.to_anchor.columns(rules.lockstep.anchor_metrics), columns);
  }
  if (columns.empty()) throw Error("gate", "there is no metric to judge", "see rules/gate.json");
  return judge_pairs(columns, plan, rules.options, report, true);
}

void keep_rows(GateReport& report, const std::vector<std::string>& tags) {
  if (tags.empty() || report.rows.empty()) return;
  std::vector<std::string> known;
  for (const GateRow& row : report.rows) {
    if (row.margin > 0) known.push_back(row.tag);
  }
  // What has no margin stays in any case; where that is all, nothing was measured.
  if (known.empty()) return;
  const auto is_of = [](const std::string& row, const std::string& tag) {
    return row == tag || row.ends_with(" " + tag);
  };
  for (const std::string& tag : tags) {
    if (std::any_of(known.begin(), known.end(),
                    [&](const std::string& row) { return is_of(row, tag); })) {
      continue;
    }
    throw Error("--metric '" + printable(tag) + "'", "was not judged", did_you_mean(tag, known));
  }
  std::erase_if(report.rows, [&](const GateRow& row) {
    return row.margin > 0 && std::none_of(tags.begin(), tags.end(), [&](const std::string& tag) {
             return is_of(row.tag, tag);
           });
  });
}

}  // namespace harness
