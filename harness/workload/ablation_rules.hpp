// The part of the rules that is about ablations.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

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

}  // namespace harness
