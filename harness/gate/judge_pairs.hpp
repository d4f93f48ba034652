// The columns of a campaign, pair by pair or cluster by cluster, judged.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/gate/plan.hpp"
#include "harness/gate/report.hpp"
#include "harness/gate/rules.hpp"
#include "harness/gate/values.hpp"

namespace harness {

/// Judges columns whose keys are pairs, each a cluster, and adds their rows. Pairs count up to the
/// first incomplete one. Throws Error when a complete one follows it. `plan` is what was planned;
/// without it the pairs there count as planned, and a note says so. The decision says whether more
/// pairs would help. `lockstep`: what words call them.
CampaignDecision judge_pairs(const std::vector<GateColumn>& columns,
                             const std::optional<GatePlan>& plan, const GateOptions& options,
                             GateReport& report, bool lockstep = false);

/// A row of what was compared, `base` against `candidate`.
GateRow row_of(const GateColumn& column, std::span<const double> base,
               std::span<const double> candidate, const MetricDecision& decision);

}  // namespace harness
