// Runs the built program as a person would, and kills it as an accident would.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace harness {

struct Outcome {
  int code = -1;  ///< exit status; 128 + signal when it was killed
  std::string out{};
  std::string err{};
};

/// The program under test, with its output going to files.
class Process {
 public:
  /// Starts `program` (the harness under test when empty). `environment` entries (NAME=VALUE) are
  /// added to this process's own; the working directory is `folder`, if given.
  explicit Process(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment = {},
                   const std::filesystem::path& folder = {}, const std::string& program = {});
  /// Ends what is still running.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return pid_; }
  void signal(int number) const;
  bool running();
  /// What stands on the error stream so far.
  std::string errors() const;
  /// Waits, and kills after five minutes: a machine that builds beside the tests is slow, not hung.
  Outcome wait();

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
  std::filesystem::path out_;
  std::filesystem::path err_;
};

/// The path of the program under test.
std::string harness_program();

/// Starts, waits, returns.
Outcome run_harness(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment = {},
                    const std::filesystem::path& folder = {});

/// The same by bash, which does `before` and redirects the program's streams by `redirections`.
Outcome run_in_shell(const std::string& before, const std::vector<std::string>& arguments,
                     const std::string& redirections,
                     const std::vector<std::string>& environment = {});

/// The same where no file can grow beyond 8 KiB, those for temporary files in `temporary` included.
Outcome run_on_full_disk(const std::vector<std::string>& arguments,
                         const std::filesystem::path& temporary);

}  // namespace harness
