// Which division a result belongs in: what it changes of the rules, derived from what it holds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/workload/rules.hpp"

namespace harness {

/// Adds those of `more` whose path is not in `list` yet.
void add_departures(std::vector<Departure>& list, const std::vector<Departure>& more);

/// What `settings` (with its members `requested` and `effective`) changes of the tier `tier` as it
/// is when driven by the scenario `driven`: batch size, a shorter series, epochs, a chosen seed,
/// the quality target; of an ablation fewer rounds. A tier is part of the rules. Nothing for a tier
/// that is unknown.
std::vector<Departure> tier_departures(const Rules& rules, const std::string& tier,
                                       const std::string& driven, const nlohmann::json& settings);

/// Steps and seconds that are not the tier's. Nothing for a dry run, which claims nothing, nor for
/// settings without a number of steps.
std::vector<Departure> length_departures(const Rules& rules, const std::string& tier,
                                         const std::string& driven, const nlohmann::json& settings);

/// That the scenario is none of the tier's.
std::vector<Departure> scenario_departures(const Rules& rules, const std::string& tier,
                                           const std::string& scenario);

/// That the rules are of a file of somebody's own (--rules), if they are.
std::vector<Departure> rules_departures(const Rules& rules);

/// All that `document`, the JSON form of a result, changes of the rules. `closed` are the
/// constraints that hold for its kind.
std::vector<Departure> departures_of(const Rules& rules, const std::vector<Constraint>& closed,
                                     const nlohmann::json& document);

/// That the run was stopped and resumed, if it was.
std::vector<Departure> interruptions(const nlohmann::json& document);

/// Where departures, division and equivalence as `result` states them are not what `derived` gives.
std::vector<Violation> check_division(const Rules& rules, const ResultCommon& result,
                                      const std::vector<Departure>& derived);

}  // namespace harness
