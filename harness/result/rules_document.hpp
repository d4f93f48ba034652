// Rules that are not those of one workload: a JSON file with a schema beside it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace harness {

/// Where to read how a rules file is mended: the hint of errors about one.
inline constexpr const char* kMendRules = "mend the file; rules/README.md describes each field";

struct RulesDocument {
  nlohmann::json document{};
  std::string sha256{};  ///< of the file's bytes
};

/// Reads `file` and checks it against `schema`, another file. Throws Error that names the path and
/// the reason inside the file.
RulesDocument read_rules_document(const std::filesystem::path& file,
                                  const std::filesystem::path& schema);

}  // namespace harness
