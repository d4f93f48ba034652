#include "harness/kinds/unfinished.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"
#include "harness/kinds/suite/measure.hpp"
#include "harness/measure/series_state.hpp"
#include "harness/result/other_files.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestPath = 4096;

Unfinished to_go_on(const fs::path& folder, const char* what, const char* command) {
  return {folder.string(), fmt::format("an unfinished {} lies there; to go on: {} {} --resume {}",
                                       what, started_as(), command,
                                       pasted_word(printable(folder.string(), kLongestPath)))};
}

/// What lies in the folder of a campaign is the gate's to go on with: its runs are the campaign's.
bool is_of_campaign(const fs::path& folder) {
  std::error_code ignored;
  fs::path above = fs::absolute(folder, ignored);
  for (int i = 0; i < 3; ++i, above = above.parent_path()) {  // OUT/candidate/001
    if (fs::exists(above / "plan.jsonl", ignored)) return true;
  }
  return false;
}

std::optional<Unfinished> unfinished_in(const fs::path& folder) {
  if (is_of_campaign(folder) || is_at_work(folder)) return std::nullopt;
  if (has_unfinished_series(folder, kSuiteForm)) return to_go_on(folder, "suite", "suite");
  if (has_unfinished_series(folder)) return to_go_on(folder, "series", "run");
  std::string samples = samples_without_result(folder);
  if (samples.empty()) return std::nullopt;
  return Unfinished{folder.string(), std::move(samples)};
}

}  // namespace

std::vector<Unfinished> unfinished_below(const std::string& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  if (fs::is_directory(folder, error)) folders.emplace_back(folder);
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored) || entry->is_symlink(ignored)) continue;
    folders.push_back(entry->path());
  }
  std::sort(folders.begin(), folders.end());
  std::vector<Unfinished> found;
  for (const fs::path& one : folders) {
    if (auto unfinished = unfinished_in(one)) found.push_back(std::move(*unfinished));
  }
  return found;
}

std::string line_of(const Unfinished& one) {
  return printable(one.folder, kLongestPath) + ": " + one.what;
}

}  // namespace harness
