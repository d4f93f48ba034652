// A command that a person gave as text, run and timed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/lockstep/keeper.hpp"

namespace harness {

struct ShellRun {
  int exit_code = 0;  ///< 128 + the signal's number when one ended it
  double seconds = 0;
  bool timed_out = false;  ///< and was therefore ended
  std::uint64_t output_bytes = 0;
  std::uint64_t cut_bytes = 0;  ///< of the output, from its middle
  std::string log_trouble{};    ///< why the log does not hold what it should; empty where it does
};

/// Runs `command` by /bin/sh in a session of its own, without input or terminal; what it prints
/// goes to the new file `log`, of a long output its beginning and its end (captured_output.hpp).
/// Ctrl-C and SIGTERM are handed on to its process group, and the command's end is waited for; what
/// it leaves running behind is ended, so that it cannot disturb the next run. After `limit_seconds`
/// (0: never) it is ended. However this process ends, kill -9 included, the command and all that it
/// started end with it. Throws Error when it cannot be started.
ShellRun run_shell_command(const std::string& command,
                           const std::vector<std::pair<std::string, std::string>>& environment,
                           const std::filesystem::path& log, double limit_seconds = 0);

/// Starts `command` in the same way and leaves it running, with its standard streams where
/// `streams` says; standard error goes to `log`. Throws Error when it cannot be started.
std::unique_ptr<KeptProcess> start_shell_command(
    const std::string& command, const std::vector<std::pair<std::string, std::string>>& environment,
    const std::filesystem::path& log, KeptStreams streams, double limit_seconds = 0);

/// A variable for a command's environment, of another size each time: that size moves the stack,
/// and with it what shares a cache line, so what is started often meets many layouts and not always
/// one.
std::pair<std::string, std::string> environment_padding();

/// What last_line() says of a log without one.
inline constexpr const char* kPrintedNothing = "it printed nothing";

/// The last line with any text in it, at most 200 bytes, safe to print; for messages.
std::string last_line(const std::filesystem::path& log);

}  // namespace harness
