// The one exception type that commands translate into `harness: WHAT: WHY (HINT)` and an exit code.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace harness {

/// Exit codes of the command line. Over several files kUsage goes before kInvalid.
enum class ExitCode {
  kOk = 0,            ///< done, valid, no regression
  kUsage = 1,         ///< usage, configuration or input error; output that could not be written
  kAborted = 2,       ///< run aborted, Ctrl-C included
  kInvalid = 3,       ///< invalid by schema or rules, target missed, verification failed
  kRegression = 4,    ///< the gate found a regression
  kInconclusive = 5,  ///< the gate could not tell, or the sides are not comparable
};

/// A failure that a person can act on. `what_failed` names the thing (a file, an option), `why` the
/// reason, `hint` the next step; each is one line, and `hint` may be empty.
class Error : public std::runtime_error {
 public:
  Error(std::string what_failed, std::string why, std::string hint = {},
        ExitCode code = ExitCode::kUsage)
      : std::runtime_error(what_failed + ": " + why + (hint.empty() ? "" : " (" + hint + ")")),
        what_failed_(std::move(what_failed)),
        why_(std::move(why)),
        hint_(std::move(hint)),
        code_(code) {}

  const std::string& what_failed() const { return what_failed_; }
  const std::string& why() const { return why_; }
  const std::string& hint() const { return hint_; }
  ExitCode code() const { return code_; }

 private:
  std::string what_failed_;
  std::string why_;
  std::string hint_;
  ExitCode code_;
};

/// What to tell a person of an exception that may come from a library: one line, without the stack
/// trace that LibTorch puts behind its own; "memory ran out" for std::bad_alloc.
std::string reason(const std::exception& error);

/// The run was asked to stop (Ctrl-C, SIGTERM); unwinds long preparations.
class Interrupted : public Error {
 public:
  Interrupted() : Error("run", "interrupted", "", ExitCode::kAborted) {}
};

}  // namespace harness
