// A command under a keeper: a process that takes what the command prints, and that outlives us by
// just long enough to end the command, with all it has started, if we are killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

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

  /// As a shell has it: 128 and the signal's number where one ended it.
  int exit_code() const;
};

/// Open descriptors that become a command's standard input and output; they stay the caller's.
/// Without them there is no input, and the output goes to the log.
struct KeptStreams {
  int input = -1;
  int output = -1;
};

/// /bin/sh with `arguments` and `environment`, both ending in a null pointer, in a session of its
/// own and without a terminal. What it prints, or prints to standard error where it has streams,
/// goes to the descriptor `log`. After `limit_seconds` (0: never) it is asked to end (SIGTERM), and
/// made to ten seconds later. What it leaves running in its process group is ended with it, unless
/// it was we who asked. Its keeper ends it, and all it has started, when this is destroyed or this
/// process dies.
class KeptProcess {
 public:
  /// Throws Error when the keeper cannot be had.
  KeptProcess(char* const* arguments, char* const* environment, int log, double limit_seconds,
              KeptStreams streams = {});
  ~KeptProcess();
  KeptProcess(const KeptProcess&) = delete;
  KeptProcess& operator=(const KeptProcess&) = delete;

  /// The leader of its session and process group; 0 where it could not be started.
  pid_t id() const { return child_; }
  /// SIGTERM to its process group; no more than once.
  void ask_to_end();
  /// Its end, waited for at most so long; empty while it runs. Throws Error when the keeper was
  /// killed.
  std::optional<KeptRun> ended_within(double seconds);
  /// Waits for its end; interrupt_requested() asks it to end.
  KeptRun wait();

 private:
  pid_t keeper_ = 0;
  pid_t child_ = 0;
  int socket_ = -1;
  bool asked_ = false;
  std::optional<KeptRun> end_{};
};

}  // namespace harness
