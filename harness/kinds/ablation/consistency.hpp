// What a schema cannot say of an ablation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/result/schema.hpp"

namespace harness {

/// As find_inconsistencies() of a run: figures against the turns, turns against the plan, names.
std::vector<SchemaProblem> find_inconsistencies(const Ablation& ablation,
                                                const nlohmann::json& document);

}  // namespace harness
