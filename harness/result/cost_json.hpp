// What a step costs and what the machine can do at most, as JSON and back. What reads throws
// nlohmann's exceptions for a document that does not fit the schema.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/result/result_common.hpp"

namespace harness {

nlohmann::json peak_json(const Peak& peak);
Peak peak_from(const nlohmann::json& object);
nlohmann::json cost_json(const CostReport& report);
CostReport cost_from(const nlohmann::json& object);

}  // namespace harness
