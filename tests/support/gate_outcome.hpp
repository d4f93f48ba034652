// `harness gate` over two sides in lockstep, and what it tells.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process.hpp"
#include "tests/support/scripted_side.hpp"
#include "tests/support/temporary_folder.hpp"

namespace harness {

inline std::string null_side(const std::string& more) {
  return harness_program() + " run --workload null --set step-ms=2 " + more;
}

inline Outcome gate(const TemporaryFolder& folder, const std::string& baseline,
                    const std::string& candidate, std::vector<std::string> more,
                    const std::vector<std::string>& environment = {}) {
  more.insert(more.begin(), {"gate", "--ab-base", baseline, "--ab-cand", candidate, "--out",
                             (folder / "out").string(), "--format", "json"});
  return run_harness(more, environment);
}

inline nlohmann::json row_of(const nlohmann::json& report, const std::string& tag) {
  for (const nlohmann::json& row : report.at("rows")) {
    if (row.at("metric") == tag) return row;
  }
  return {};
}

}  // namespace harness
