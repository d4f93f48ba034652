#include "harness/mlperf/log_writer.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace harness {
namespace {

// The compiler may know its files by absolute paths; logs leave the machine without them. This
// file's own name below the source tree tells how long the part before it is.
std::string_view below_source_tree(std::string_view file) {
  constexpr std::string_view kThisFile = "harness/mlperf/log_writer.cpp";
  const std::string_view here = std::source_location::current().file_name();
  if (!here.ends_with(kThisFile)) return file;
  const std::string_view root = here.substr(0, here.size() - kThisFile.size());
  if (file.starts_with(root)) file.remove_prefix(root.size());
  return file;
}

}  // namespace

LogClock steady_log_clock() {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto start = std::chrono::steady_clock::now();
  return [wall, start]() -> std::int64_t {
    return duration_cast<milliseconds>(wall + (std::chrono::steady_clock::now() - start)).count();
  };
}

LogWriter::LogWriter(const std::filesystem::path& path, LogClock clock)
    : file_(path, "a log line"), clock_(std::move(clock)) {}

LogWriter::LogWriter(const std::filesystem::path& path, const WrittenLines& known,
                     std::int64_t last_ms, LogClock clock)
    : file_(path, "a log line", known), clock_(std::move(clock)), last_ms_(last_ms) {}

void LogWriter::point(std::string_view key, const Json& value, const Json& metadata,
                      std::source_location where) {
  write("POINT_IN_TIME", key, value, metadata, where);
}

void LogWriter::begin(std::string_view key, const Json& metadata, std::source_location where) {
  write("INTERVAL_START", key, nullptr, metadata, where);
}

void LogWriter::end(std::string_view key, const Json& metadata, std::source_location where) {
  write("INTERVAL_END", key, nullptr, metadata, where);
}

void LogWriter::write(const char* event_type, std::string_view key, const Json& value,
                      const Json& metadata, const std::source_location& where) {
  using Ordered = nlohmann::ordered_json;
  Ordered line;
  line["namespace"] = "";
  last_ms_ = std::max(last_ms_, clock_());
  line["time_ms"] = last_ms_;
  line["event_type"] = event_type;
  line["key"] = key;
  line["value"] = Ordered::parse(value.dump(-1, ' ', true, Json::error_handler_t::replace));
  Ordered& details = line["metadata"] = Ordered::object();
  details["file"] = below_source_tree(where.file_name());
  details["lineno"] = where.line();
  for (const auto& [name, detail] : metadata.items()) {
    details[name] = Ordered::parse(detail.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  file_.append(":::MLLOG " + line.dump(-1, ' ', true));
}

}  // namespace harness
