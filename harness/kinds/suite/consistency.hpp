// Whether the parts of a suite's result agree with each other.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/kinds/suite/suite.hpp"
#include "harness/result/schema.hpp"

namespace harness {

/// Every place where `suite`, read from `document`, contradicts itself: ratios and the score are
/// derived again.
std::vector<SchemaProblem> find_inconsistencies(const Suite& suite, const nlohmann::json& document);

}  // namespace harness
