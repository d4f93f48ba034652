#include "harness/measure/run_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace harness {

namespace fs = std::filesystem;

std::string first_stem(const std::string& workload, std::int64_t run_index,
                       const std::string& series_id) {
  return fmt::format("{}-{}-{}", workload, run_index, series_id.substr(0, 8));
}

std::string free_stem(const std::string& first, const fs::path& out) {
  const auto taken = [&](const std::string& stem) {
    return fs::exists(out / (stem + ".json")) || fs::exists(out / (stem + ".jsonl")) ||
           fs::exists(out / (stem + ".log"));
  };
  std::string stem = first;
  for (int i = 2; taken(stem); ++i) stem = fmt::format("{}-{}", first, i);
  return stem;
}

std::vector<fs::path> files_of_run(const fs::path& folder, const std::string& first,
                                   const std::string& extension) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string stem = entry.path().stem().string();
    const bool of_run = stem == first || stem.starts_with(first + "-");
    if (of_run && entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace harness
