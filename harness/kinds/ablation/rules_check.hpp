// What breaks the rules in an ablation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/workload/rules.hpp"

namespace harness {

/// The constraints that hold for `ablation` as a whole: all but those on what its variants set. One
/// that ended before any process could tell of data, weights and hyperparameters is held to those
/// on its settings alone.
std::vector<Constraint> shared_constraints(const std::vector<Constraint>& constraints,
                                           const Ablation& ablation);

/// Everything in `ablation` (with its JSON form `document`) that breaks `rules`: variants that are
/// not those of the rules or are compared with others, peers whose times are doubtful, warm-up, the
/// quality of each, constraints.
/// Used after measuring and again by `validate`.
std::vector<Violation> check_rules(const Rules& rules, const Ablation& ablation,
                                   const nlohmann::json& document);

}  // namespace harness
