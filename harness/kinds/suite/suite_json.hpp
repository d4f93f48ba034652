// A suite's result as JSON, and back.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/kinds/suite/suite.hpp"

namespace harness {

/// The document of results/schema/suite.schema.json without its digest; cleaned and refused as
/// to_json(const Result&) does.
nlohmann::json to_json(const Suite& suite);

/// The suite in a document that fits the schema. Throws Error for one that does not.
Suite suite_from_json(const nlohmann::json& document);

}  // namespace harness
