// What `harness validate` derives again from what a result file holds and from the rules it names.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/result/kind.hpp"

namespace harness {

/// What `result` states otherwise than its facts, this program's kernels and the rules give:
/// reasons for mistrust, kernels, division with departures, and whatever the rules judge. What
/// cannot be judged here (a workload that this build lacks, rules of another version) is said in
/// `notes`. Throws Error when the rules of a result that claims to be valid cannot be read.
std::vector<Violation> recheck(const ResultKind& kind, const ResultCommon& result,
                               const nlohmann::json& document, std::vector<std::string>& notes);

}  // namespace harness
