// JSON Schema (draft-07) for result and rules files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace harness {

/// Where a document breaks its schema, or itself. `path` is a JSON pointer ("" is the whole
/// document), `reason` one line.
struct SchemaProblem {
  std::string path{};
  std::string reason{};
};

/// "/path: reason", safe to print; "(file): reason" for one of the whole document.
std::string problem_text(const SchemaProblem& problem);

/// Most problems that are listed of one document.
inline constexpr std::size_t kMostProblems = 50;

/// Every place where `document` breaks the schema in the file `schema` (at most kMostProblems, then
/// a last one saying how many more). Documents from outside go through parse_json() first, which
/// bounds depth and size; strings over 4096 bytes are reported and not matched against patterns.
/// A schema may refer to another in the same folder ("$ref": "run.schema.json#/definitions/x").
/// Throws Error when the schema file, or one that it refers to, cannot be read or is no schema.
std::vector<SchemaProblem> validate_schema(const nlohmann::json& document,
                                           const std::filesystem::path& schema);

/// results/schema/KIND.schema.json of the project's folder.
std::filesystem::path result_schema_path(const std::string& kind);

/// `token` as one step of a JSON pointer ("/" and "~" escaped).
std::string pointer_step(const std::string& token);

}  // namespace harness
