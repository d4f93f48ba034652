// Asks a validation report for a problem.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "harness/result/validate.hpp"

namespace harness {

/// Whether `report` has a problem at `path` whose reason contains `reason`; tells all if not.
inline bool names(const ValidationReport& report, const std::string& path,
                  const std::string& reason) {
  for (const SchemaProblem& problem : report.problems) {
    if (problem.path == path && problem.reason.find(reason) != std::string::npos) return true;
  }
  for (const SchemaProblem& problem : report.problems) {
    UNSCOPED_INFO(problem.path << ": " << problem.reason);
  }
  return false;
}

}  // namespace harness
