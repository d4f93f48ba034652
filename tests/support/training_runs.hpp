// Runs of the null workload that train to a target, and what they leave behind.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"

namespace harness {

inline std::vector<std::string> training(const std::filesystem::path& out,
                                         const std::vector<std::string>& more = {},
                                         const std::string& quality = "0.1,0.2,0.3,0.6") {
  std::vector<std::string> arguments = {"run",        "--workload", "null",
                                        "--tier",     "training",   "--out",
                                        out.string(), "--set",      "quality=" + quality};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

inline std::vector<nlohmann::json> results_in(const std::filesystem::path& folder) {
  std::vector<nlohmann::json> results;
  for (const std::filesystem::path& file : files_ending(folder, ".json")) {
    results.push_back(nlohmann::json::parse(read_file(file, 64 << 20)));
  }
  return results;
}

/// Every loss of every step, by the number of the step; the last line counts, as on a resumed run.
inline std::vector<double> losses_by_step(const std::filesystem::path& folder) {
  std::vector<double> losses;
  for (const std::filesystem::path& file : files_ending(folder, ".jsonl")) {
    for (const nlohmann::json& line : lines_of(file)) {
      if (line["event"] != "step") continue;
      CHECK(line["step"] == losses.size() + 1);  // none twice, none left out
      losses.push_back(line["losses"]["total"]);
    }
  }
  return losses;
}

/// The log of each result; what was killed before its first saved state leaves one without.
inline void check_log_passes(const std::filesystem::path& folder) {
  for (std::filesystem::path file : files_ending(folder, ".json")) {
    const Outcome outcome = run_harness({"check-log", file.replace_extension(".log").string()});
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("passes the log rules"));
  }
}

inline bool is_clean(const std::filesystem::path& folder) {
  return std::none_of(std::filesystem::directory_iterator(folder), {},
                      [](const std::filesystem::directory_entry& entry) {
                        const std::string name = entry.path().filename().string();
                        return name.find(".state") != std::string::npos ||
                               name.ends_with(".checkpoint") || name.ends_with(".tmp");
                      });
}

}  // namespace harness
