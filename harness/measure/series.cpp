#include "harness/measure/series.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "harness/base/error.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/measure/own_process.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

// SERIES_ID,INDEX,COUNT,SEED,OUT.
constexpr const char* kOrderVariable = "HARNESS_SERIES_ORDER";

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
  return SeriesOrder{{parts[0], *parse_integer(parts[1]), *parse_integer(parts[2])},
                     static_cast<std::uint32_t>(*parse_integer(parts[3])),
                     join({parts.begin() + 4, parts.end()}, ",")};
}

ExitCode run_child(const std::vector<std::string>& arguments, const SeriesOrder& order) {
  const StopMessage by_the_child(nullptr);
  const pid_t child =
      start_run(arguments, fmt::format("{}={},{},{},{},{}", kOrderVariable,
                                       order.position.series_id, order.position.index,
                                       order.position.count, order.seed, order.out.string()));
  bool forwarded = false;
  while (true) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      if (WIFSIGNALED(status)) {
        print_err(fmt::format("harness: run {} of the series: {}\n", order.position.index,
                              signal_text(status)));
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
