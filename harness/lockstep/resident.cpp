#include "harness/lockstep/resident.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/lockstep/stops.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

// A stop that is asked for while nobody says anything is seen at the signal, or so much later.
constexpr double kTickSeconds = 0.5;

constexpr const char* kOutput = "HARNESS_LOCKSTEP_OUTPUT";

/// The same for both ends of a pipe, and for no two pipes.
std::string name_of(int stream) {
  struct stat status {};
  if (::fstat(stream, &status) != 0) return "";
  return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

void check_output() {
  const char* given = std::getenv(kOutput);
  const bool ours = given == nullptr || given == name_of(STDOUT_FILENO);
  ::unsetenv(kOutput);
  if (ours) return;
  throw Error("--lockstep", "standard output does not go to who gives the orders",
              "nothing may stand behind the command: no pipe, no redirection");
}

/// A copy that children do not inherit.
int own_copy(int stream) {
  const int copy = ::fcntl(stream, F_DUPFD_CLOEXEC, 3);
  if (copy >= 0) return copy;
  throw Error("--lockstep", std::strerror(errno), "it speaks on standard input and output");
}

int take_output() {
  check_output();
  const int copy = own_copy(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return copy;
}

}  // namespace

std::pair<std::string, std::string> output_variable(int output) {
  return {kOutput, name_of(output)};
}

Resident::Resident(SideHello hello)
    : stopped_(stops_heard()),
      hello_(std::move(hello)),
      channel_(own_copy(STDIN_FILENO), take_output()) {
  hello_.leaves_out_stops = hello_.slices && stopped_;
}

Clock Resident::clock() const {
  if (!hello_.leaves_out_stops) return {};
  return [stopped = stopped_] { return steady_seconds() - stopped(); };
}

StepOrder Resident::next() {
  if (!std::exchange(greeted_, true)) channel_.send(hello_line(hello_));
  answer();
  while (true) {
    if (interrupt_requested()) throw Interrupted();
    if (const auto line = channel_.line_within(kTickSeconds)) {
      order_ = parse_order(*line);
      return *order_;
    }
  }
}

void Resident::step(const StepRecord& record) {
  if (!order_) return;  // of the warm-up
  steps_.seconds.push_back(record.seconds);
  for (const auto& [name, loss] : record.losses) {
    steps_.losses[name].push_back(std::isfinite(loss) ? std::optional(loss) : std::nullopt);
  }
  for (const auto& [name, seconds] : record.phases) {
    // A phase that a step before did not have took no time there.
    std::vector<double>& list = steps_.phases[name];
    list.resize(steps_.seconds.size() - 1, 0);
    list.push_back(seconds);
  }
  // At once: what else is done about a step is not the step's time.
  diverged_ = steps_.diverged();
  if (diverged_ || std::ssize(steps_.seconds) == order_->count) answer();
}

void Resident::evaluated(const Quality& quality, const EvaluationPoint& /*at*/) {
  if (order_) quality_ = quality;
}

void Resident::end(const std::string& trouble) {
  try {
    if (trouble.empty()) return answer();
    if (!diverged_) channel_.send(error_line(trouble));
  } catch (const ProtocolError&) {
    // Nobody listens any more, and nothing is lost by it.
  }
}

void Resident::answer() {
  if (!order_) return;
  for (auto& [name, list] : steps_.phases) list.resize(steps_.seconds.size(), 0);
  switch (std::exchange(order_, std::nullopt)->kind) {
    case OrderKind::kStep:
      channel_.send(answer_line(std::exchange(steps_, {})));
      break;
    case OrderKind::kEvaluate:
      channel_.send(quality_line(std::exchange(quality_, std::nullopt)));
      break;
    case OrderKind::kFinish:  // the end of the process is the answer
      break;
  }
}

}  // namespace harness
