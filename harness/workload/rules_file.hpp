// rules/NAME.json, read and checked.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/workload/rules.hpp"

namespace harness {

/// "rules/NAME.json"
std::string rules_file_of(const std::string& workload);
/// Reads and checks rules/NAME.json against rules/rules.schema.json, both below `home`, and against
/// the scenarios that there are: each may have keys of its own in a tier. Throws Error that names
/// the path and the reason inside the file.
Rules load_rules(const std::filesystem::path& home, const std::string& workload,
                 const ScenarioInfos& scenarios);
/// The same for any other file, which names its workload. Such rules are not MLPerf's.
Rules load_rules_file(const std::filesystem::path& file, const std::filesystem::path& home,
                      const ScenarioInfos& scenarios);
/// The same for `content`, the text of `file`.
Rules parse_rules(const std::string& content, const std::filesystem::path& home,
                  const std::filesystem::path& file, const ScenarioInfos& scenarios);

/// What those are made of.
/// The text of a rules file as JSON, whatever it says. Throws Error.
nlohmann::json read_rules_text(const std::filesystem::path& file);
/// The same for `document`, which came from `file`; without the hash.
Rules rules_from_document(nlohmann::json document, const std::filesystem::path& home,
                          const std::filesystem::path& file, const ScenarioInfos& scenarios);
/// With nothing left that would call them MLPerf's.
Rules never_mlperfs(Rules rules);

}  // namespace harness
