// What is to be held of a measurement: its division, quality and status, and the state of the
// machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/result/result_common.hpp"
#include "harness/system/doctor.hpp"
#include "harness/workload/rules.hpp"

namespace harness {

/// Judged against `target`; `steps` were run before.
QualityReport report_quality(const Quality& quality, std::optional<double> target,
                             std::int64_t steps);

/// Adds what `document`, the result's JSON form, breaks of `closed`, and derives division and
/// equivalence. `asked` is the division that was asked for, or empty.
void settle_division(RulesReference& reference, const Rules& rules,
                     const std::vector<Constraint>& closed, const nlohmann::json& document,
                     const std::string& asked);

/// The status of a measurement that did not end by itself; `why` says what ended it, `hint` what
/// can be done.
void mark_aborted(Status& status, const std::string& why, const std::string& hint);

/// What the doctor says of the machine before the run and of what happened during it.
std::vector<Finding> machine_findings(const ResultCommon& result);

/// Mistrust and recommendations, from the machine's state before and after.
void judge_machine(ResultCommon& result);

/// 0 for a valid result or a dry run, 3 for an invalid or (with `strict`) a mistrusted one, 2 for
/// an aborted one.
ExitCode exit_code(const Status& status, bool strict);

}  // namespace harness
