// The runs that lie in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/result/result.hpp"

namespace harness {

/// Of each run (series and index) one result: a complete one rather than one that was stopped, the
/// latest of several; by start and index.
std::vector<Result> one_per_run(std::vector<Result> results);

/// Throws Error when `path` is a folder whose `runs` are not whole series: whoever leaves some out
/// can choose the outcome. A single file is what it is.
void require_whole_series(const std::filesystem::path& path, const std::vector<Result>& runs);

/// The results of that series in `folder`, one a run. Files of others, and what cannot be read, are
/// passed over: they are no part of it.
std::vector<Result> results_of_series(const std::filesystem::path& folder,
                                      const std::string& series_id);

}  // namespace harness
