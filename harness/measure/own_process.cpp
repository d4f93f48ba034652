#include "harness/measure/own_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr const char* kParentName = "HARNESS_PARENT";
constexpr const char* kParent = "HARNESS_PARENT=";

}  // namespace

pid_t start_run(const std::vector<std::string>& arguments, const std::string& variable,
                const ChildStreams& streams) {
  std::vector<std::string> argv = {"harness", "run"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment;
  const std::string name = variable.substr(0, variable.find('=') + 1);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view known = *entry;
    if (!known.starts_with(name) && !known.starts_with(kParent)) environment.emplace_back(known);
  }
  environment.push_back(variable);
  environment.push_back(kParent + std::to_string(::getpid()));
  // A process group of its own: Ctrl-C in the terminal then reaches it once, through us, and is not
  // taken for the second request that ends a run at once.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  // We ask it to end by SIGTERM, whatever we ignore ourselves.
  sigset_t heard{};
  ::sigemptyset(&heard);
  ::sigaddset(&heard, SIGTERM);
  ::posix_spawnattr_setsigdefault(&attributes, &heard);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  if (streams.given >= 0) {
    ::posix_spawn_file_actions_adddup2(&files, streams.given, kGivenDescriptor);
  }
  if (!streams.errors.empty()) {
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, streams.errors.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
  }
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, "/proc/self/exe", &files, &attributes,
                                   exec_list(argv).data(), exec_list(environment).data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) throw Error("a process of the run", std::strerror(failed));
  return child;
}

void end_with_parent() {
  const char* parent = std::getenv(kParentName);
  if (parent == nullptr) return;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // It may have ended before we asked.
  if (std::to_string(::getppid()) != parent) ::_exit(static_cast<int>(ExitCode::kAborted));
}

std::string signal_text(int status) {
  return fmt::format(
      "its process was ended by signal {} (9 is what a machine sends that runs out of memory)",
      WTERMSIG(status));
}

}  // namespace harness
