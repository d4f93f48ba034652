// Two sides of results, or of times, judged.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/side.hpp"
#include "harness/gate/report.hpp"
#include "harness/gate/rules.hpp"
#include "harness/gate/values.hpp"

namespace harness {

/// Judges columns whose keys are pairs, and adds their rows. Pairs count up to the first incomplete
/// one. Throws Error when a complete one follows it. The decision says whether more pairs would
/// help.
CampaignDecision judge_pairs(const std::vector<GateColumn>& columns, const GateOptions& options,
                             GateReport& report);

/// Judges results: by pairs if all runs belong to one campaign, else by the spread between series.
/// If the sides cannot be compared, the report says why. Throws Error as check_gate_sides() and
/// gate_columns() do. `decision`, if given, gets the state of the campaign.
GateReport gate_results(const Side& baseline, const Side& candidate, const GateRules& rules,
                        CampaignDecision* decision = nullptr);

/// Keeps only the rows of `tags` and of the quality target. The verdicts still come from judging
/// all metrics together. Throws Error for a tag without a row.
void keep_rows(GateReport& report, const std::vector<std::string>& tags);

}  // namespace harness
