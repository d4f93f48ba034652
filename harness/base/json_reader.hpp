// JSON from people and from the network: bounded in size, depth, length and count, strict in
// syntax.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace harness {

/// What a document may be at most. The defaults fit result files with a million samples.
struct JsonLimits {
  std::size_t file_bytes = std::size_t{96} << 20;
  std::size_t depth = 64;                     ///< arrays and objects within each other
  std::size_t string_bytes = 1 << 16;         ///< each string and each key
  std::size_t values = std::size_t{4} << 20;  ///< values of any kind, keys not counted
  /// Refuse integers beyond +-(2^53 - 1), which other readers would round without a word.
  bool exact_integers = false;
};

/// The document in `text`; `name` (a path, shown in messages) says where it came from. Throws Error
/// with line and column for anything that is not exactly one JSON value: broken syntax, invalid
/// UTF-8, a key twice in one object, a number that no double holds, NaN, trailing text, or more
/// than `limits` allow. Memory and stack are bounded by the limits, whatever the text.
nlohmann::json parse_json(std::string_view text, const std::string& name,
                          const JsonLimits& limits = {});

/// Reads and parses a file. Throws Error as read_file() and parse_json() do.
nlohmann::json read_json_file(const std::filesystem::path& path, const JsonLimits& limits = {});

}  // namespace harness
