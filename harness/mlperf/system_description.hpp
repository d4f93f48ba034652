// systems/NAME.json of an MLPerf package, and the names that a package is known by.
#pragma once

#include <cstdint>
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
  std::int64_t nodes = 1;  ///< machines
};

/// Of MLPerf Training: 33 fields, all of them text. `system` as capture_system() returns it, with
/// the workload's `software`. "unknown" is what could not be read; the accelerator's fields are
/// empty, their number is 0.
nlohmann::ordered_json system_description(const SystemDescriptionFacts& facts,
                                          const nlohmann::json& system);

/// Of MLPerf Inference, whose checker wants a word in fields that mean nothing here, and three
/// fields more; all of them text too, since it takes the number 0 for nothing.
nlohmann::ordered_json inference_system_description(const SystemDescriptionFacts& facts,
                                                    const nlohmann::json& system);

/// The processor's model; "unknown" where it could not be read.
std::string platform_name(const nlohmann::json& system);

/// Of the environment variable HARNESS_SUBMITTER, safe to print; "unaffiliated" without it.
std::string submitter_name();

/// Letters, digits and single hyphens: a folder's name for MLPerf's tools.
std::string folder_name(const std::string& text);

}  // namespace harness
