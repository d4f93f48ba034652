#include "harness/mlperf/log_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLogLines = 200'000;
/// The first is the longest line.
constexpr JsonLimits kEventLimits = {std::size_t{1} << 20, 16, 1 << 16, 10'000, false};

json parse_event(std::string_view text, const std::string& name, std::int64_t line) {
  const std::string where = fmt::format("{} line {}", printable(name), line);
  json event;
  try {
    event = parse_json(trim(text), where, kEventLimits);
  } catch (const Error& error) {
    // The reader knows the event only: its line 1 is the file's line that stands before it.
    std::string why = error.why();
    const std::string_view own_line = "line 1, ";
    const std::size_t at = why.find(own_line);
    if (at != std::string::npos) why.replace(at, own_line.size(), "the event's ");
    throw Error(where, why, "every line with the log's token holds one JSON object after it");
  }
  if (!event.is_object()) {
    throw Error(where, fmt::format("an event is an object, this is {}", event.type_name()));
  }
  return event;
}

}  // namespace

std::vector<LogLine> parse_log(std::string_view text, const std::string& prefix,
                               const std::string& name) {
  std::vector<LogLine> lines;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find_first_of("\r\n");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(line.size(), text.size()));
    if (!text.empty()) text.remove_prefix(text.starts_with("\r\n") ? 2 : 1);
    const std::size_t at = line.rfind(prefix);
    if (at == std::string_view::npos) continue;
    if (lines.size() == kMostLogLines) {
      throw Error(printable(name), fmt::format("more than {} log lines", kMostLogLines));
    }
    lines.push_back({number, parse_event(line.substr(at + prefix.size()), name, number)});
  }
  if (lines.empty()) {
    throw Error(printable(name), fmt::format("holds no line with '{}'", trim(prefix)),
                "is it the log of a run?");
  }
  return lines;
}

std::vector<LogLine> read_log(const std::filesystem::path& path, const std::string& prefix) {
  return parse_log(read_file(path, kLargestLog), prefix, path.string());
}

}  // namespace harness
