// `harness ablate` on the null workload, as its tests call it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"

namespace harness {

inline std::vector<std::string> ablate_null(const std::filesystem::path& out,
                                            const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = with_step_ms("2", more);
  arguments.insert(arguments.begin(), {"ablate", "--workload", "null", "--out", out.string()});
  return arguments;
}

inline Outcome run_ablate(const std::filesystem::path& out,
                          const std::vector<std::string>& more = {}) {
  return run_harness(ablate_null(out, more));
}

/// In one cluster, unless `more` says otherwise.
inline Outcome ablate_once(const std::filesystem::path& out, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--clusters", "1"});
  return run_ablate(out, more);
}

inline nlohmann::json read_ablation(const std::filesystem::path& file) {
  return nlohmann::json::parse(read_file(file, 64 << 20));
}

inline std::vector<std::string> names_of_variants(const nlohmann::json& ablation) {
  std::vector<std::string> list;
  for (const nlohmann::json& variant : ablation["variants"]) list.push_back(variant["name"]);
  return list;
}

}  // namespace harness
