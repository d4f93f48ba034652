#include "harness/result/other_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = 1 << 20;  // a plan has whole command lines

/// What its first line says, in all files that grow line by line and in those of one line; null for
/// another one. Anything but a regular file could wait for ever.
json first_line(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return nullptr;
  std::ifstream stream(file);
  std::string line;
  for (char letter = 0; line.size() < kLongestLine && stream.get(letter) && letter != '\n';) {
    line.push_back(letter);
  }
  json object = json::parse(line, nullptr, false);
  return object.is_object() ? object : json();
}

bool begins_samples(const json& line) {
  return line.is_object() && line.contains("event") && line["event"] == "start";
}

}  // namespace

std::string samples_without_result(const fs::path& folder) {
  std::error_code ignored;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".jsonl") continue;
    // Those of a further rank lie beside the first one's: NAME.rank-1.jsonl.
    const std::string stem = file.stem().string();
    if (fs::exists(folder / (stem.substr(0, stem.rfind(".rank-")) + ".json"))) continue;
    if (begins_samples(first_line(file))) names.push_back(printable(file.filename().string()));
  }
  if (names.empty()) return "";
  std::sort(names.begin(), names.end());
  const std::string more = names.size() > 1 ? fmt::format(" (and {} more)", names.size() - 1) : "";
  return names.front() + more + " there holds the samples of a run without a result";
}

std::string what_instead(const fs::path& file) {
  const json line = first_line(file);
  if (line.is_null()) return "";
  if (begins_samples(line)) {
    const fs::path result = fs::path(file).replace_extension(".json");
    std::error_code ignored;
    if (!fs::exists(result, ignored)) {
      return "holds the samples of a run of which there is no result";
    }
    return "holds the samples of " + printable(result.filename().string()) +
           " beside it: give that file";
  }
  const bool kept = line.contains("campaign") && (line.contains("nights") || line.contains("rows"));
  if (kept || (line.contains("kind") && line["kind"] == "campaign")) {
    return "belongs to a campaign of the gate: give its folder to 'harness report'";
  }
  return "";
}

}  // namespace harness
