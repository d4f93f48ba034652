// The result back from JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/result/result.hpp"

namespace harness {

/// The result in a document that fits the schema. Throws Error for one that does not.
Result result_from_json(const nlohmann::json& document);
Metric metric_from_json(const nlohmann::json& object);
Resumption resumption_from_json(const nlohmann::json& object);

}  // namespace harness
