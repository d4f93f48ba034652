// What runs in several ranks leave behind.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/training_runs.hpp"

namespace harness {

inline nlohmann::json only_result(const std::filesystem::path& out) {
  const std::vector<nlohmann::json> results = results_in(out);
  REQUIRE(results.size() == 1);
  return results.front();
}

/// Both ranks wrote as many samples.
inline void check_same_steps(const std::filesystem::path& out) {
  std::vector<std::size_t> lines;
  for (const std::filesystem::path& file : files_ending(out, ".jsonl")) {
    lines.push_back(lines_of(file).size());
  }
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == lines[1]);
}

}  // namespace harness
