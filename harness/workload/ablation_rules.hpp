// The part of the rules that is about ablations.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/result/ablation.hpp"
#include "harness/workload/rules.hpp"

namespace harness {

/// The member `ablation` of a rules file that fits its schema, with each variant's settings made
/// complete. Throws Error, naming `file`, for a name that is there twice or builds on one that does
/// not stand before it.
AblationRule ablation_rule_from_json(const nlohmann::json& document, const std::string& file);

/// The variant that `name` builds on or, where that is not among `measured`, the next one further
/// down that is. Empty where there is none.
std::string nearest_base(const AblationRule& rule, const std::string& name,
                         const std::vector<std::string>& measured);

/// Whether `path` (a JSON pointer into a run's result) is something that variants set.
bool set_by_variants(const std::string& path);

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
