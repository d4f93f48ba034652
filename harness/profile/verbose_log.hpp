// A whole log of oneDNN's verbose output, with the scopes around its lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/profile/primitive.hpp"

namespace harness {

struct LoggedPrimitive {
  Primitive primitive{};
  std::int64_t scope = -1;  ///< the innermost open one; -1: none
  std::string
      library{};  ///< version of the copy of oneDNN, "3.12.0"; empty where it cannot be told
  std::optional<double> timestamp{};  ///< milliseconds since the epoch
};

struct LoggedCreation {
  Primitive primitive{};
  std::int64_t scope = -1;
  bool from_cache = false;
};

struct VerboseLog {
  std::vector<LoggedPrimitive> executed{};
  std::vector<LoggedCreation> created{};
  std::vector<std::string> libraries{};   ///< versions that introduced themselves
  std::int64_t foreign_lines = 0;         ///< of somebody else
  std::vector<std::string> unreadable{};  ///< oneDNN's, torn or truncated: line number and reason
};

/// Never throws for the content of a log: what cannot be read is counted.
/// Each copy of oneDNN announces itself and its columns before its first line; of two copies, a
/// line belongs to the one whose form it has.
VerboseLog parse_verbose_log(std::string_view text);

}  // namespace harness
