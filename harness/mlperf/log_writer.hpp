// Writes `:::MLLOG {json}` lines, the text form that MLPerf's tools read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <source_location>
#include <string_view>

#include "harness/base/line_file.hpp"

namespace harness {

/// Milliseconds since 1970. The default starts from the system's clock and goes on by the monotonic
/// one, so that a clock that is set meanwhile does not bend the run's times.
using LogClock = std::function<std::int64_t()>;
LogClock steady_log_clock();

/// One file per run, never appended to; each line reaches the file as it is written and is plain
/// ASCII. Value and metadata are always there; the metadata name the line of source that logged,
/// below the source tree. Throws Error when the disk takes no more.
class LogWriter {
 public:
  /// Creates `path`, which must not exist.
  explicit LogWriter(const std::filesystem::path& path, LogClock clock = steady_log_clock());

  /// Goes on in the log of the same run, behind the lines in `known`, the last of which is of
  /// `last_ms`: no later line has an earlier time, whatever the system's clock was set to
  /// meanwhile.
  LogWriter(const std::filesystem::path& path, const WrittenLines& known, std::int64_t last_ms,
            LogClock clock = steady_log_clock());

  using Json = nlohmann::json;
  /// `value` and `metadata` (an object) hold finite numbers only.
  void point(std::string_view key, const Json& value, const Json& metadata = Json::object(),
             std::source_location where = std::source_location::current());
  /// An interval begins or ends.
  void begin(std::string_view key, const Json& metadata = Json::object(),
             std::source_location where = std::source_location::current());
  void end(std::string_view key, const Json& metadata = Json::object(),
           std::source_location where = std::source_location::current());
  void sync() { file_.sync(); }
  /// Removes the file; nothing may be logged then.
  void discard() { file_.discard(); }
  WrittenLines written() const { return file_.written(); }
  std::int64_t last_ms() const { return last_ms_; }  ///< time of the last line

 private:
  void write(const char* event_type, std::string_view key, const Json& value, const Json& metadata,
             const std::source_location& where);

  LineFile file_;
  LogClock clock_;
  std::int64_t last_ms_ = 0;
};

}  // namespace harness
