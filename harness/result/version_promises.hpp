// What a file of its version has to hold, and a schema that describes older ones, too, cannot ask
// for.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/result/schema.hpp"

namespace harness {

/// The members that the version of this file promises and that are not there: the `bound` of peaks
/// with a value, the `quartiles` of summaries with a median. Precondition: the document fits the
/// schema of its kind.
std::vector<SchemaProblem> broken_promises(const nlohmann::json& document);

}  // namespace harness
