// Two sides of results, or of times, judged.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/gate/gate_report.hpp"
#include "harness/gate/gate_rules.hpp"
#include "harness/gate/gate_values.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Reports how the sides differ and which differences forbid a comparison. `interleaved` sides may
/// differ in kernels, precision, allocator, threads and CPUs: two commands serve to compare these.
void find_differences(const Result& baseline, const Result& candidate, bool interleaved,
                      GateReport& report);

/// Whether the run missed its quality target and kept all other rules.
bool missed_quality(const Result& run);

/// Throws Error for a side without runs, for a run that was stopped or broke its rules, and for a
/// baseline that missed its quality target. The exit code is that of "not comparable" for dry runs,
/// a run given twice, and exchanged sides of a campaign. Runs of one side with several set-ups are
/// added to what forbids the comparison.
void check_gate_sides(const GateSide& baseline, const GateSide& candidate, GateReport& report);

/// Judges columns whose keys are pairs, and adds their rows. Pairs count up to the first incomplete
/// one. Throws Error when a complete one follows it. The decision says whether more pairs would
/// help.
CampaignDecision judge_pairs(const std::vector<GateColumn>& columns, const GateOptions& options,
                             GateReport& report);

/// Judges results: by pairs if all runs belong to one campaign, else by the spread between series.
/// If the sides cannot be compared, the report says why. Throws Error as the functions above and
/// gate_columns() do. `decision`, if given, gets the state of the campaign.
GateReport gate_results(const GateSide& baseline, const GateSide& candidate, const GateRules& rules,
                        CampaignDecision* decision = nullptr);

/// Keeps only the rows of `tags` and of the quality target. The verdicts still come from judging
/// all metrics together. Throws Error for a tag without a row.
void keep_rows(GateReport& report, const std::vector<std::string>& tags);

}  // namespace harness
