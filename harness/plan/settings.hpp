// The settings of every measurement: the table in settings.cpp is where one is added; those of
// LoadGen's scenarios stand in scenario_settings.cpp, those of processes in process_settings.cpp.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/plan/plan.hpp"
#include "harness/result/setting.hpp"

namespace harness {

inline constexpr std::int64_t kMostRuns = 1000;
inline constexpr std::int64_t kMostRanks = 65'536;       ///< as the schema of results has it
inline constexpr std::int64_t kMostThreads = 1'000'000;  ///< as the schema of results has it
inline constexpr std::int64_t kMostEpochs = 100'000;
inline constexpr double kMostSeconds = 1e6;  ///< of timed steps

/// What `workload` offers for a setting, or all that the setting has; empty: anything.
const std::vector<std::string>& choices_of(const Setting& setting, const WorkloadInfo& workload);

/// `value`, which lies within the setting's bounds; throws Error, naming the option.
std::int64_t integer_in_bounds(const Setting& what, std::int64_t value);

/// What was asked for, what the rules say, or the setting's own default: a text of its choices, a
/// number within its bounds. Throws Error, naming the option.
nlohmann::json checked(const RunPlan& plan, const Setting& what);

/// Puts every setting of the table into `plan`, whose workload, rules, tier and seeds are chosen.
/// Throws Error, naming the option.
void choose_settings(RunPlan& plan);

/// The request that repeats `result`: its effective settings and seed, as if typed.
RunRequest request_from_result(const Result& result);

}  // namespace harness
