// What two sides must be before they are judged.
#pragma once

#include <string>
#include <vector>

#include "harness/compare/side.hpp"
#include "harness/gate/report.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Whether the run missed its quality target and kept all other rules.
bool missed_quality(const Result& run);

/// What keeps one of `runs` from being a measurement, "is invalid: RULE"; a missed target does not.
/// Empty: all are.
std::string why_invalid(const std::vector<Result>& runs);

/// Throws Error for a side without runs, for a run that was stopped or broke its rules, for one of
/// a debug or sanitizer build unless `allow_debug`. The exit code is that of "not comparable" for
/// dry runs. Runs with several set-ups are added to what forbids the comparison.
void check_gate_side(const Side& side, bool allow_debug, GateReport& report);

/// Throws Error for a run given twice and for exchanged sides of a campaign, which are not
/// comparable.
void check_together(const Side& baseline, const Side& candidate);

/// All of this for both sides.
void check_gate_sides(const Side& baseline, const Side& candidate, bool allow_debug,
                      GateReport& report);

/// Throws Error for a baseline of which a run missed its quality target.
void refuse_missed(const Side& baseline);

}  // namespace harness
