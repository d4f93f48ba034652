// Clusters as lines of a campaign's file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/lockstep/cluster.hpp"

namespace harness {

/// As one line; bytes of a side that are no text are replaced.
std::string line_of(const nlohmann::json& object);

nlohmann::json to_json(const LockstepTurn& turn);
nlohmann::json to_json(const ClusterRecord& record);
/// The same cluster again. Of a side's hello it knows name, unit and setup. Throws ProtocolError
/// for anything that is no cluster.
ClusterRecord cluster_from(const nlohmann::json& object);

}  // namespace harness
