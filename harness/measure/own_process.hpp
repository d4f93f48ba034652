// This program once more, as a child that does a part of the work.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// Starts `run` with the same arguments and one more variable (NAME=VALUE) in its environment: not
/// an option, since the command line of each run is recorded as the person typed it. With
/// `errors` its standard error goes to that file, and it has no other output. It is to call
/// end_with_parent(). Throws Error.
pid_t start_run(const std::vector<std::string>& arguments, const std::string& variable,
                const std::filesystem::path& errors = {});

/// Asks this process to end (SIGTERM) when the one that started it does.
void end_with_parent();

/// "its process was ended by signal 9 (9 is what a machine sends that runs out of memory)", of a
/// status as waitpid() gives it.
std::string signal_text(int status);

}  // namespace harness
