#include "harness/check/output_place.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/regular_file.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/result/kind.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr std::array kBesideResults = {".jsonl", ".log", ".trace", ".safetensors"};
constexpr std::string_view kBlanks = " \t\r\n";

/// Whether `text` has the member `"key": "value"`, anywhere. Not parsed: a damaged result is worth
/// as much to the one who has to find out what happened to it.
bool has_member(std::string_view text, std::string_view key, std::string_view value) {
  const auto skip = [&text](std::string_view part) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    const bool there = text.starts_with(part);
    if (there) text.remove_prefix(part.size());
    return there;
  };
  const std::string quoted_key = '"' + std::string(key) + '"';
  const std::string quoted_value = '"' + std::string(value) + '"';
  while (true) {
    const std::size_t at = text.find(quoted_key);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + quoted_key.size());
    if (skip(":") && skip(quoted_value)) return true;
  }
}

/// What the JSON or the lines of JSON in `text` were measured as; nullptr for others.
const char* held_by_json(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (has_member(line, "event", "start")) return "holds the samples of a run";
  const bool of_a_pair = line.find("\"side\":") != std::string_view::npos &&
                         line.find("\"pair\":") != std::string_view::npos;
  if (of_a_pair || has_member(line, "kind", "campaign")) return "holds the times of a campaign";
  // Other reports of a gate, which have lines of their own, may be replaced.
  if (has_member(line, "kind", "gate")) return "holds the verdict of a campaign";
  for (const char* format : {"\"harness-checkpoint/", "\"harness-series/", "\"harness-suite/"}) {
    if (text.find(format) != std::string_view::npos) return "holds the state of an unfinished run";
  }
  if (text.find("\"schema_version\"") == std::string_view::npos) return nullptr;
  for (const auto& kind : result_kinds()) {
    if (has_member(text, "kind", kind->name())) return "holds a result";
  }
  return nullptr;
}

/// What a regular file holds that was measured; nullptr for nothing of the kind.
const char* measured_in(const fs::path& file) {
  constexpr std::size_t kHead = 4096;
  std::string head(kHead, '\0');
  head.resize(RegularFile(file).read(head.data(), head.size()));
  if (head.starts_with(":::MLLOG") || head.find("\n:::MLLOG") != std::string::npos) {
    return "holds the log of a run";
  }
  const std::size_t first = head.find_first_not_of(kBlanks);
  if (first == std::string::npos || head[first] != '{') return nullptr;
  return held_by_json(read_file(file, JsonLimits{}.file_bytes));
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Whether `file` has the name of something that a run writes beside its result or its checkpoint.
bool belongs_to_a_run(const fs::path& file) {
  const std::string name = file.filename().string();
  const std::size_t state = name.find(".state-");
  if (state != std::string::npos) {
    return is_file(file.parent_path() / (name.substr(0, state) + ".checkpoint"));
  }
  const auto* const known =
      std::find(kBesideResults.begin(), kBesideResults.end(), file.extension());
  fs::path result = file;
  result.replace_extension(".json");
  return known != kBesideResults.end() && is_file(result) && measured_in(result) != nullptr;
}

/// The files of `inputs`, and what lies beside them by the same name.
std::vector<fs::path> files_of(const std::vector<std::string>& inputs) {
  const auto ignore = [](const std::string&, const Error&) {};  // for the one who reads it to tell
  const std::vector<std::string> named = files_named(inputs, ignore);
  std::vector<fs::path> files(named.begin(), named.end());
  for (std::size_t i = files.size(); i-- > 0;) {
    for (const char* extension : kBesideResults) {
      files.push_back(fs::path(files[i]).replace_extension(extension));
    }
  }
  return files;
}

}  // namespace

void refuse_to_replace(const fs::path& file, const std::vector<std::string>& inputs) {
  struct stat there {};
  if (::stat(file.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) return;
  const auto refuse = [&](const std::string& why) {
    std::error_code ignored;
    const fs::path real = fs::canonical(file, ignored);
    const bool link = fs::is_symlink(fs::symlink_status(file, ignored));
    throw Error(printable(file.string()),
                link ? "leads to " + printable(real.string()) + ", which " + why : why,
                "it would be replaced; choose another file");
  };
  for (const fs::path& input : files_of(inputs)) {
    struct stat info {};
    if (::stat(input.c_str(), &info) != 0) continue;
    if (info.st_dev == there.st_dev && info.st_ino == there.st_ino)
      refuse("is an input or belongs to one");
  }
  std::error_code ignored;
  const fs::path real = fs::canonical(file, ignored);
  if (const char* held = measured_in(real)) refuse(held);
  if (belongs_to_a_run(real)) refuse("belongs to the run beside it");
}

bool is_vacant(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() == fs::file_type::not_found;
}

void require_vacant(const fs::path& path) {
  if (is_vacant(path)) return;
  throw Error(printable(path.string()), "exists already", "choose another name with --out");
}

OutputFolder::OutputFolder(fs::path path) : path_(std::move(path)) {
  std::error_code ignored;
  for (fs::path folder = fs::absolute(path_); is_vacant(folder) && folder.has_relative_path();
       folder = folder.parent_path()) {
    made_.push_back(folder);
  }
  try {
    make_writable_folder(path_);
  } catch (...) {
    remove_empty();
    throw;
  }
}

OutputFolder::~OutputFolder() { remove_empty(); }

void OutputFolder::remove_empty() const {
  for (const fs::path& folder : made_) ::rmdir(folder.c_str());
}

}  // namespace harness
