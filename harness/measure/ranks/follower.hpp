// The process that starts one rank of a run which another process leads, on this machine or on
// another.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/ranks/world_place.hpp"

namespace harness {

struct FollowTask {
  std::vector<std::string> arguments{};  ///< of `run`, for the rank; empty: those of rank 0
  std::vector<int> cpus{};               ///< empty: all that this process may use
  std::filesystem::path out{};           ///< for its samples; empty: as rank 0 has it
  double pause_seconds = 0;              ///< between the runs of a series
};

/// Comes to the meeting of `place`, starts the rank when told to, watches it, and hands over what
/// came of it; once for each run of the series. Returns the exit code of the first run whose code
/// is not 0, or 0. Throws Error
/// where rank 0 is not there, lets it not in, or is lost.
ExitCode follow_ranks(const WorldPlace& place, const FollowTask& task);

}  // namespace harness
