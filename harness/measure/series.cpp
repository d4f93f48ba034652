#include "harness/measure/series.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "harness/base/error.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

// SERIES_ID,INDEX,COUNT,SEED,OUT: not an option, since the command line of each run is recorded as
// the person typed it.
constexpr const char* kOrderVariable = "HARNESS_SERIES_ORDER";

pid_t spawn(const std::vector<std::string>& arguments, const SeriesOrder& order) {
  std::vector<std::string> argv = {"harness", "run"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  environment.push_back(fmt::format("{}={},{},{},{},{}", kOrderVariable, order.position.series_id,
                                    order.position.index, order.position.count, order.seed,
                                    order.out.string()));
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
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, "/proc/self/exe", nullptr, &attributes,
                                   exec_list(argv).data(), exec_list(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) throw Error("run of the series", std::strerror(failed));
  return child;
}

}  // namespace

bool in_series() { return std::getenv(kOrderVariable) != nullptr; }

std::optional<SeriesOrder> inherited_order() {
  const char* text = std::getenv(kOrderVariable);
  if (text == nullptr) return std::nullopt;
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() < 5 || !parse_integer(parts[1]) || !parse_integer(parts[2]) ||
      !parse_integer(parts[3])) {
    throw Error(kOrderVariable, "is set to something else than a series order", "unset it");
  }
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  return SeriesOrder{{parts[0], *parse_integer(parts[1]), *parse_integer(parts[2])},
                     static_cast<std::uint32_t>(*parse_integer(parts[3])),
                     join({parts.begin() + 4, parts.end()}, ",")};
}

ExitCode run_child(const std::vector<std::string>& arguments, const SeriesOrder& order) {
  const StopMessage by_the_child(nullptr);
  const pid_t child = spawn(arguments, order);
  bool forwarded = false;
  while (true) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      if (WIFSIGNALED(status)) {
        print_err(
            fmt::format("harness: run {} of the series: its process was ended by signal {} "
                        "(9 is what a machine sends that runs out of memory)\n",
                        order.position.index, WTERMSIG(status)));
      }
      return WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : ExitCode::kAborted;
    }
    if (interrupt_requested() && !forwarded) {
      ::kill(child, SIGTERM);
      forwarded = true;
    }
    ::usleep(50'000);
  }
}

}  // namespace harness
