// What a command is, asked of what it starts. Only a shell can read text that was written for one,
// so the command is started once with HARNESS_TELL set: a `harness run` or `harness suite` anywhere
// in it says that it is there, and ends. From then on it takes its arguments, with those that are
// added to them, from HARNESS_ARGUMENTS.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace harness {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// A command of this program and what stands behind it.
struct HarnessCall {
  std::string command{};
  std::vector<std::string> arguments{};
};

/// Called once, at the start of the program. Of a `run` or `suite`: the call as it is to be done,
/// which is another where HARNESS_ARGUMENTS says so; nothing where HARNESS_TELL asked what the call
/// is, and was told. Other commands are as they are. Both variables are taken out of the
/// environment, since they do not mean what this process starts. Throws Error for values that make
/// no sense.
std::optional<HarnessCall> heed_asking(HarnessCall call);

/// A command, and what it told of itself.
struct AskedCommand {
  std::string text{};  ///< for /bin/sh
  /// What it starts: a `run` or a `suite`, with the arguments that it is to have. Nothing: another
  /// command, which takes none.
  std::optional<HarnessCall> call{};

  bool is_run() const { return call && call->command == "run"; }
  bool is_suite() const { return call && call->command == "suite"; }
  /// Of runs, in a folder that it is given.
  bool leaves_results() const { return call.has_value(); }
  /// Whether it is given that option ("--out"), in either way to write it.
  bool has(const std::string& option) const;
  /// The same with more arguments. Precondition: leaves_results().
  AskedCommand with(const std::vector<std::string>& more) const;
  /// What makes `text` take these arguments; nothing of another command.
  Variables variables() const;
};

struct Asking {
  AskedCommand command{};
  std::string failure{};  ///< of another command: why it is none to go on with; empty: it is one
};

// `files` is a path without its ending, in a folder that is there: what the command tells goes to
// FILES.jsonl, what it prints to FILES.txt. `more` is put into its environment. Both throw Error
// for a command that tells more than once, or tells and then fails, and Interrupted.

/// Runs the command to its end, for at most so many seconds (0: any number). A `harness run` or
/// `suite` takes no time. Another command cannot be known before its end, so it has then run whole.
Asking ask_command(const std::string& text, const std::filesystem::path& files,
                   const Variables& more, double limit_seconds);

/// The same of a command that may be a side by the protocol of lockstep. It greets when it is
/// ready, and is ended then: no step is done.
Asking ask_side(const std::string& text, const std::filesystem::path& files, const Variables& more);

}  // namespace harness
