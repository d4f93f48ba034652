// A command under a keeper: a process that takes what the command prints, and that outlives us by
// just long enough to end the command, with all it has started, if we are killed.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace harness {

/// What the keeper tells of a command's end; goes through a socket as it is.
struct KeptRun {
  int status = 0;  ///< as waitpid() gives it
  double seconds = 0;
  bool timed_out = false;  ///< and was therefore ended
  std::uint64_t output_bytes = 0;
  std::uint64_t cut_bytes = 0;  ///< of the output, that the log leaves out
  int log_errno = 0;            ///< why the log could not take all; 0 where it did
  int start_errno = 0;          ///< why the command could not be started; 0 where it was
};

/// Runs /bin/sh with `arguments` and `environment`, both ending in a null pointer, and waits for
/// its end. It is in a session of its own, without input or terminal; what it prints goes to the
/// descriptor `log`. interrupt_requested() asks its process group to end (SIGTERM). After
/// `limit_seconds` (0: never) it is asked to end, and made to ten seconds later. What it leaves
/// running in its process group is ended with it, unless it was we who asked. Throws Error when the
/// keeper itself cannot be had, or is killed.
KeptRun run_kept(char* const* arguments, char* const* environment, int log, double limit_seconds);

}  // namespace harness
