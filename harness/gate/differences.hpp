// In what two sides differ, and whether they may be compared all the same.
#pragma once

#include <string>

#include "harness/gate/report.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// The name of the difference where the sides ran under two versions of their workload's rules.
inline constexpr const char* kRulesDiffer = "rules file";

/// The name of the difference where a quality was checked by other golden data or tolerances than
/// the other side's, or than this program asks for: nobody may loosen its own.
inline constexpr const char* kChecksDiffer = "checks of the quality";

/// The name of the difference where the baseline is a build from before commands were asked.
inline constexpr const char* kBaselineOlder = "how old the baseline is";
/// The name of the difference where the candidate is a harness run, or suite, and the baseline is
/// another command.
inline constexpr const char* kBaselineSilent = "what the baseline is";
/// The other way round, which no candidate may begin a baseline with: who is not asked is not
/// judged.
inline constexpr const char* kCandidateSilent = "what the candidate is";

/// Whether `one` is the difference of that name, of whichever task.
bool is_difference_in(const GateDifference& one, const std::string& name);

/// Reports how the sides differ and which differences forbid a comparison. Those of `interleaved`
/// sides were made on purpose where a person may choose (SetUpPart::kChosen).
void find_differences(const Result& baseline, const Result& candidate, bool interleaved,
                      GateReport& report);

}  // namespace harness
