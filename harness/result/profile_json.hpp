// A profile as JSON, and back.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/result/profile.hpp"

namespace harness {

/// The document of results/schema/profile.schema.json without its digest; cleaned and refused as
/// to_json(const Result&) does.
nlohmann::json to_json(const Profile& profile);

/// The profile in a document that fits the schema. Throws Error for one that does not.
Profile profile_from_json(const nlohmann::json& document);

}  // namespace harness
