// What the measuring commands fill in alike: identity, division, judgement of the machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/result/result_common.hpp"
#include "harness/system/doctor.hpp"
#include "harness/workload/rules.hpp"

namespace harness {

/// Where one run stands in its series.
struct SeriesPosition {
  std::string series_id{};
  std::int64_t index = 1;
  std::int64_t count = 1;
};

/// A random (version 4) UUID.
std::string new_uuid();

/// A new identity that starts now.
Identity make_identity(const SeriesPosition& position,
                       const std::vector<std::string>& command_line);

RulesReference refer_to(const Rules& rules, const std::string& tier,
                        const std::vector<Departure>& departures);

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

}  // namespace harness
