// What a schema cannot say: that the parts of a run agree with each other.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/result/result.hpp"
#include "harness/result/schema.hpp"

namespace harness {

/// Every disagreement within `result`, whose JSON form is `document`: summaries against their
/// samples, flags against what they follow from, order of times and counts, nulls without a reason.
/// At most kMostProblems.
std::vector<SchemaProblem> find_inconsistencies(const Result& result,
                                                const nlohmann::json& document);

}  // namespace harness
