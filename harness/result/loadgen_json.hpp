// The section `loadgen` of a run's document.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/result/loadgen_report.hpp"

namespace harness {

nlohmann::json loadgen_json(const LoadGenReport& report);
/// Throws nlohmann's exceptions for what does not fit the schema.
LoadGenReport loadgen_from(const nlohmann::json& object);

}  // namespace harness
