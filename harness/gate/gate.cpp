#include "harness/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/compare/occasions.hpp"
#include "harness/gate/differences.hpp"
#include "harness/gate/judge_pairs.hpp"
#include "harness/gate/sides.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr const char* kQualityTarget = "quality target";
constexpr const char* kLosses = "losses";
constexpr const char* kAnchored = "anchor.";
// Rounding grows from step to step: so many times the tolerance of the first one.
constexpr double kLaterSteps = 10;

void judge_hours(const Side& baseline, const Side& candidate,
                 const std::vector<GateColumn>& columns, const GateOptions& options,
                 GateReport& report) {
  const std::string missing =
      fmt::format("each side needs runs from {} hours; the baseline has {}, the candidate {}",
                  kFewestHours, hours_text(baseline), hours_text(candidate));
  for (const GateColumn& column : columns) {
    const UnpairedMetric metric{in_order(column.baseline), in_order(column.candidate),
                                column.direction, column.metric.margin};
    for (const auto* side : {&metric.base, &metric.candidate}) {
      if (side->size() <= kMostUnpaired) continue;
      throw Error("gate",
                  fmt::format("{} hours on a side, {} are the most", side->size(), kMostUnpaired),
                  "give fewer");
    }
    const MetricDecision decision = decide_unpaired(metric, columns.size(), options);
    report.rows.push_back(row_of(column, metric.base, metric.candidate, decision));
    GateRow& row = report.rows.back();
    if (row.n < kFewestHours) {
      row.note = missing;
    } else if (row.verdict == Verdict::kInconclusive) {
      row.note = "too noisy for these hours and this margin: more of them, or two commands in turn";
    }
  }
  const std::string apart = apart_text(baseline, candidate);
  if (!apart.empty()) report.notes.push_back(apart);
}

/// How many of its runs were held to a target.
std::size_t judged_runs(const Side& side) {
  return static_cast<std::size_t>(
      std::count_if(side.runs.begin(), side.runs.end(), [](const Result& run) {
        return missed_quality(run) || (run.quality && run.quality->passed.has_value());
      }));
}

GateRow target_row(const Side& candidate) {
  const auto missed = static_cast<std::size_t>(
      std::count_if(candidate.runs.begin(), candidate.runs.end(), missed_quality));
  const QualityReport first = candidate.runs.front().quality.value_or(QualityReport{});
  GateRow row;
  row.tag = kQualityTarget;
  row.group = GateGroup::kQuality;
  row.direction = first.quality.direction;
  row.n = judged_runs(candidate);
  row.verdict = missed > 0 ? Verdict::kRegressed : Verdict::kSame;
  row.note = fmt::format("{}: {} of {} runs of the candidate met their target",
                         printable(first.quality.metric, 60), row.n - missed, row.n);
  return row;
}

/// Whether the candidate still learns what it is to learn.
void judge_quality(const Side& baseline, const Side& candidate, GateReport& report) {
  const std::size_t before = judged_runs(baseline);
  const std::size_t now = judged_runs(candidate);
  if (before + now == 0) return;
  // Of sides in lockstep one evaluation stands for all.
  const bool all = before == baseline.runs.size() && now == candidate.runs.size();
  const bool alike = baseline.runs.front().rules.lockstep && now > 0 && before > 0;
  if (!all && !alike) {
    throw Error("gate", "some runs checked their quality, others did not",
                "measure all of them with the quality check");
  }
  report.rows.push_back(target_row(candidate));
}

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

}  // namespace

GateReport gate_results(const Side& baseline, const Side& candidate, const GateRules& rules,
                        const std::optional<GatePlan>& plan, CampaignDecision* decision,
                        const LockstepNumbers* lockstep) {
  GateReport report;
  report.baseline = baseline.name;
  report.candidate = candidate.name;
  check_gate_sides(baseline, candidate, rules.allow_debug, report);
  refuse_missed(baseline);
  const Result& first = baseline.runs.front();
  const bool paired = of_one_campaign(baseline, candidate);
  report.workload = first.rules.workload;
  report.subject = fmt::format("{} {}, tier {}", printable(first.rules.workload, 60),
                               printable(first.rules.version, 32), printable(first.rules.tier, 40));
  if (paired) report.campaign = first.identity.campaign->id;
  find_differences(first, candidate.runs.front(), paired, report);
  if (!report.forbidding.empty()) {
    // Whatever cannot be compared, a candidate that missed its target is no new baseline.
    const bool missed = std::any_of(candidate.runs.begin(), candidate.runs.end(), missed_quality);
    if (missed && rules_alone_forbid(report)) judge_quality(baseline, candidate, report);
    return report;
  }
  if (first.rules.lockstep && lockstep == nullptr) {
    throw Error(printable(baseline.name),
                "its runs stepped in lockstep, and are judged as they run",
                "run the campaign again: harness gate --ab-base ... --ab-cand ...",
                ExitCode::kInconclusive);
  }
  const std::vector<GateColumn> columns =
      lockstep != nullptr ? lockstep_columns(baseline, candidate, *lockstep, rules)
                          : gate_columns(baseline, candidate, rules.of(first), paired);
  if (columns.empty()) throw Error("gate", "there is no metric to judge", "see rules/gate.json");
  if (paired) {
    const CampaignDecision found =
        judge_pairs(columns, plan, rules.options, report, first.rules.lockstep);
    if (decision != nullptr) *decision = found;
  } else {
    judge_hours(baseline, candidate, columns, rules.options, report);
    report.alarm_error = rules.options.alarm;
    report.same_error = rules.options.alarm;
    report.method = fmt::format(
        "runs that did not take turns, judged by the spread between their hours (Hodges and "
        "Lehmann's shift, Mann and Whitney's exact bounds); runs of one series, and of series that "
        "began within an hour, count once; {:g} % confidence for {} together",
        (1 - rules.options.alarm) * 100, format_count(std::ssize(columns), "metric"));
  }
  judge_quality(baseline, candidate, report);
  if (lockstep != nullptr) {
    judge_losses(lockstep->to_baseline.losses(), first, candidate.runs.front(), rules, report);
  }
  note_mistrust(baseline, report);
  note_mistrust(candidate, report);
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
  if (judged_runs(candidate) > 0) report.rows.push_back(target_row(candidate));
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
  for (const std::string& tag : tags) {
    if (std::find(known.begin(), known.end(), tag) != known.end()) continue;
    throw Error("--metric '" + printable(tag) + "'", "was not judged", did_you_mean(tag, known));
  }
  std::erase_if(report.rows, [&](const GateRow& row) {
    return row.margin > 0 && std::find(tags.begin(), tags.end(), row.tag) == tags.end();
  });
}

}  // namespace harness
