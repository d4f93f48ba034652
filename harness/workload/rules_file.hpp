// rules/NAME.json, read and checked.
#pragma once

#include <filesystem>
#include <string>

#include "harness/workload/rules.hpp"

namespace harness {

/// Reads and checks rules/NAME.json against rules/rules.schema.json, both below `home`. Throws
/// Error that names the path and the reason inside the file.
Rules load_rules(const std::filesystem::path& home, const std::string& workload);
/// The same for `content`, the text of that file.
Rules parse_rules(const std::string& content, const std::filesystem::path& home,
                  const std::string& workload);

}  // namespace harness
