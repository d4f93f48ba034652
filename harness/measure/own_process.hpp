// This program once more, as a child that does a part of the work.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// Where a child finds the descriptor that it was given.
inline constexpr int kGivenDescriptor = 10;

/// What a child is given beside the environment and the streams of this process.
struct ChildStreams {
  std::filesystem::path errors{};  ///< its standard error goes there, and it has no other output
  int given = -1;                  ///< becomes kGivenDescriptor
};

/// Starts `run` with the same arguments and one more variable (NAME=VALUE) in its environment: not
/// an option, since the command line of each run is recorded as the person typed it. Throws Error.
pid_t start_run(const std::vector<std::string>& arguments, const std::string& variable,
                const ChildStreams& streams = {});

/// In a process that start_run() started: asks it to end (SIGTERM) when the one that started it
/// does, and ends it at once where that has happened. To be called before all work.
void end_with_parent();

/// "its process was ended by signal 9 (9 is what a machine sends that runs out of memory)", of a
/// status as waitpid() gives it.
std::string signal_text(int status);

}  // namespace harness
