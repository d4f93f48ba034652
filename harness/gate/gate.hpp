// Two sides of results, or of times, judged.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/gate/gate_rules.hpp"
#include "harness/gate/gate_values.hpp"
#include "harness/report/gate_report.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// In what the sides differ, and what of it forbids to compare them. Where they are `interleaved`,
/// kernels, precision, allocator, threads and CPUs may differ: that is what two commands are for.
void find_differences(const Result& baseline, const Result& candidate, bool interleaved,
                      GateReport& report);

/// Whether the run missed what it was to learn, its other rules kept.
bool missed_quality(const Result& run);

/// Throws Error for a side without runs, with a run that was stopped or broke its rules, and for a
/// baseline that missed its quality target; with the exit code for "not comparable" for dry runs,
/// a run that is there twice and sides of a campaign that were mixed up. Runs of a side that are
/// not of one set-up go into what forbids the comparison.
void check_gate_sides(const GateSide& baseline, const GateSide& candidate, GateReport& report);

/// Judges columns whose keys are pairs, and adds their rows. Pairs count up to the first that is
/// not whole; throws Error when a later one is. Whether more pairs would help is in the decision.
CampaignDecision judge_pairs(const std::vector<GateColumn>& columns, const GateOptions& options,
                             GateReport& report);

/// Judges results: by pairs where all runs belong to one campaign, else by the spread between
/// series. Sides that cannot be compared give a report that says why. Throws Error as the functions
/// above and gate_columns() do. `decision`: where a campaign stands, for who runs it.
GateReport gate_results(const GateSide& baseline, const GateSide& candidate, const GateRules& rules,
                        CampaignDecision* decision = nullptr);

/// Leaves only the rows of `tags`, and those of the quality target. The verdicts stay those of a
/// judgement of all metrics. Throws Error for a tag without a row.
void keep_rows(GateReport& report, const std::vector<std::string>& tags);

}  // namespace harness
