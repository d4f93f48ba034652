// Two sides of results, or of times, judged.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/side.hpp"
#include "harness/gate/lockstep_columns.hpp"
#include "harness/gate/report.hpp"
#include "harness/gate/rules.hpp"
#include "harness/gate/values.hpp"

namespace harness {

/// Judges results: by pairs if all runs belong to one campaign, else by the spread between hours.
/// Runs of several workloads or scenarios are judged task by task (gate/tasks), in one decision
/// over all their metrics. If the sides cannot be compared, the report says why; a task that the
/// candidate lacks is one reason. Throws Error as check_gate_sides() and gate_columns() do. `plan`
/// as for judge_pairs(). `decision`, if given, gets the state of the campaign. `lockstep`, if
/// given, has the times and losses of its clusters: they are judged in place of the times in the
/// results.
GateReport gate_results(const Side& baseline, const Side& candidate, const GateRules& rules,
                        const std::optional<GatePlan>& plan = std::nullopt,
                        CampaignDecision* decision = nullptr,
                        const LockstepNumbers* lockstep = nullptr);

/// The same of sides in lockstep that leave no results: times alone.
CampaignDecision gate_times(const LockstepNumbers& lockstep, const GateRules& rules,
                            const GatePlan& plan, GateReport& report);

/// Of sides whose times alone are compared, each result that there is: its build, its rules, its
/// quality. Throws Error as check_gate_side() and refuse_missed() do.
void judge_alone(const Side& baseline, const Side& candidate, const GateRules& rules,
                 GateReport& report);

/// Keeps only the rows of `tags` (of any task, where they name none) and of the quality target. The
/// verdicts still come from judging all metrics together. Throws Error for a tag without a row.
void keep_rows(GateReport& report, const std::vector<std::string>& tags);

}  // namespace harness
