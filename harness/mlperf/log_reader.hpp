// Reads a log's `:::MLLOG` lines. What comes from outside is bounded in every way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// One line that holds an event.
struct LogLine {
  std::int64_t line = 0;   ///< 1-based, in the file
  nlohmann::json event{};  ///< an object
};

/// Most bytes of a log file.
inline constexpr std::size_t kLargestLog = std::size_t{64} << 20;

/// The events in `text`, one for each line that contains `prefix`; what stands before its last
/// occurrence is skipped, other lines too. Throws Error, naming the line, where an event is not a
/// JSON object, or when there is none at all.
std::vector<LogLine> parse_log(std::string_view text, const std::string& prefix,
                               const std::string& name);

/// Throws Error as read_file() and parse_log() do.
std::vector<LogLine> read_log(const std::filesystem::path& path, const std::string& prefix);

}  // namespace harness
