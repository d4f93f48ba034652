// What more ranks would make of a step, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/profile/communication.hpp"

namespace harness {

/// Lines for a terminal of 80 columns; with a newline at the end.
std::string render_world(const WorldProjection& world);
nlohmann::json to_json(const WorldProjection& world);

}  // namespace harness
