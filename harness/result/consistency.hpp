// What a schema cannot say: that the parts of a result agree with each other.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "harness/result/ablation.hpp"
#include "harness/result/profile.hpp"
#include "harness/result/result.hpp"
#include "harness/result/schema.hpp"

namespace harness {

/// Whether `quality` is good enough: false when a check failed, or `target` is given and the value
/// misses it or is missing; empty when there is neither a target nor a check; otherwise true.
std::optional<bool> quality_passed(const Quality& quality, std::optional<double> target);

/// Every disagreement within `result`, whose JSON form is `document`: summaries against their
/// samples, flags against what they follow from, order of times and counts, nulls without a reason.
/// At most kMostProblems.
std::vector<SchemaProblem> find_inconsistencies(const Result& result,
                                                const nlohmann::json& document);
/// The same for a profile: the run's part, and the sums of its tables.
std::vector<SchemaProblem> find_inconsistencies(const Profile& profile,
                                                const nlohmann::json& document);
/// The same for an ablation: figures against the turns, turns against the plan, names.
std::vector<SchemaProblem> find_inconsistencies(const Ablation& ablation,
                                                const nlohmann::json& document);

}  // namespace harness
