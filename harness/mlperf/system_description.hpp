// systems/NAME.json of an MLPerf Training package: 33 fields, all of them text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace harness {

/// What the captured system does not tell.
struct SystemDescriptionFacts {
  std::string submitter{};
  std::string division{};
  std::string system_name{};
  std::string framework{};
  std::string software_notes{};
};

/// `system` as capture_system() returns it, with the workload's `software`. "unknown" is what could
/// not be read; the accelerator's fields are empty, their number is 0.
nlohmann::ordered_json system_description(const SystemDescriptionFacts& facts,
                                          const nlohmann::json& system);

}  // namespace harness
