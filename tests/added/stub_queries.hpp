// Runs of the workload that answers queries by sleeping, under its own rules.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/files_of_runs.hpp"
#include "tests/support/profile_of_null.hpp"

namespace harness {

inline const std::string kStubRules = HARNESS_SOURCE_DIR "/tests/added/stub-queries.json";

/// `harness run` in that scenario.
inline std::vector<std::string> queries_command(const std::string& scenario,
                                                const std::filesystem::path& out,
                                                const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"run",    "--rules", kStubRules,  "--scenario",
                                     scenario, "--out",   out.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// The one result that lies there.
inline nlohmann::json result_in(const std::filesystem::path& out) {
  return read_json(only_file(out, ".json"));
}

}  // namespace harness
