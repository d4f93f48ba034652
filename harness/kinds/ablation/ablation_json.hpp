// An ablation as JSON, and back.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/kinds/ablation/ablation.hpp"

namespace harness {

/// The document of results/schema/ablation.schema.json without its digest; cleaned and refused as
/// to_json(const Result&) does.
nlohmann::json to_json(const Ablation& ablation);

/// The ablation in a document that fits the schema. Throws Error for one that does not.
Ablation ablation_from_json(const nlohmann::json& document);

}  // namespace harness
