// What a schema cannot say of a profile.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/result/profile.hpp"
#include "harness/result/schema.hpp"

namespace harness {

/// As find_inconsistencies() of a run: the run's part, and the sums of its tables.
std::vector<SchemaProblem> find_inconsistencies(const Profile& profile,
                                                const nlohmann::json& document);

}  // namespace harness
