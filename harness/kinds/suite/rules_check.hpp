// What breaks the rules in a suite.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/kinds/suite/suite.hpp"
#include "harness/workload/rules.hpp"

namespace harness {

/// What a closed suite may not change: `rules`' own conditions, and that each of its runs is
/// there for this program, and closed.
std::vector<Constraint> closed_constraints(const Rules& rules, const Suite& suite);

/// A violation for each planned run that is not there, unless nothing here can run it, and for each
/// that is not valid. Used after measuring and again by `validate`.
std::vector<Violation> broken_runs(const Suite& suite);

/// A violation for each run's file in `folder` that is not the one that the suite was made from.
/// Where some of them are there and others are not, `notes` name those.
std::vector<Violation> changed_runs(const Suite& suite, const std::filesystem::path& folder,
                                    std::vector<std::string>& notes);

}  // namespace harness
