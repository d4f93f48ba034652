// rules/NAME.json, read and checked.
#pragma once

#include <filesystem>
#include <string>

#include "harness/workload/rules.hpp"

namespace harness {

/// Reads and checks rules/NAME.json against rules/rules.schema.json, both below `home`, and against
/// the scenarios that there are: each may have keys of its own in a tier. Throws Error that names
/// the path and the reason inside the file.
Rules load_rules(const std::filesystem::path& home, const std::string& workload,
                 const ScenarioInfos& scenarios);
/// The same for `content`, the text of that file.
Rules parse_rules(const std::string& content, const std::filesystem::path& home,
                  const std::string& workload, const ScenarioInfos& scenarios);

}  // namespace harness
