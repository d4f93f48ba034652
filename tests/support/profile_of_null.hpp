// Profiles of the null workload, whose step is one operator of one primitive, in tests.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/result/digest.hpp"
#include "tests/support/files_of_runs.hpp"

namespace harness {

inline std::vector<std::string> profile_null(const std::filesystem::path& out,
                                             const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = with_step_ms("3", more);
  arguments.insert(arguments.begin(), {"profile", "--workload", "null", "--out", out.string()});
  return arguments;
}

inline std::filesystem::path only_file(const std::filesystem::path& folder,
                                       const std::string& ending) {
  std::filesystem::path found;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ending) continue;
    REQUIRE(found.empty());
    found = entry.path();
  }
  REQUIRE(!found.empty());
  return found;
}

inline nlohmann::json read_json(const std::filesystem::path& file) {
  return nlohmann::json::parse(read_file(file, 64 << 20));
}

/// Writes `document` anew, with a digest that fits.
inline void rewrite(const std::filesystem::path& file, nlohmann::json document) {
  document.erase("digest");
  document["digest"] = digest_of(document);
  write_file_atomically(file, document.dump());
}

}  // namespace harness
