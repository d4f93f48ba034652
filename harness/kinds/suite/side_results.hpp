// The results of one side of a comparison: those of runs, the runs of suites among them.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/result/result.hpp"

namespace harness {

enum class SideOf {
  kFiles,     ///< that somebody names; they have to be by the rules and checks of this program
  kCampaign,  ///< what a command of a campaign has just left, by whatever rules
};

/// The sound results in a file or below a folder, one a run. What rules and checks other than this
/// program's mean for a comparison is for the reader of a campaign to say. A suite's own file is
/// none of them, but says what has to be there: throws Error for a suite that lacks a run that it
/// tells of, and for one that was stopped; of files that belong to a campaign the last pair may
/// be. Throws Error also for what is not sound, for other kinds of results, and for series that are
/// not whole.
std::vector<Result> side_results(const std::filesystem::path& path, SideOf side);

}  // namespace harness
