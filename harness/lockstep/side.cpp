#include "harness/lockstep/side.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/resident.hpp"
#include "harness/lockstep/shell_command.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/process_time.hpp"

namespace harness {
namespace {

constexpr double kTickSeconds = 0.5;    // a stop that is asked for is seen so much later at most
constexpr double kLastWords = 2;        // for a side that closed its output to end by itself
constexpr double kFinishSeconds = 300;  // to write a result

/// A pipe whose ends no child inherits.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("a pipe", std::strerror(errno));
  return ends;
}

/// Whether it was stopped within what it timed, or behind it on the way to its answer, or in which
/// of its phases, a side that does not leave out stops cannot know: our clock tells the time.
void leave_out_stops(const TimedAnswer& timed, TurnAnswer& answer) {
  if (timed.stopped_seconds <= 0) return;
  answer.seconds.front() = timed.parent_seconds;
  answer.phases.clear();
}

}  // namespace

ResidentSide::ResidentSide(const SideCommand& side, SidePatience patience)
    : side_(side), patience_(patience) {
  const std::array<int, 2> orders = make_pipe();
  const std::array<int, 2> answers = make_pipe();
  channel_.emplace(answers[0], orders[1]);
  // The side's ends are its own: ours would keep them open behind its death.
  const auto close_theirs = [&] {
    ::close(orders[0]);
    ::close(answers[1]);
  };
  try {
    auto environment = side.environment;
    environment.push_back(stops_.variable());
    if (side.knows_its_output) environment.push_back(output_variable(answers[1]));
    process_ = start_shell_command(side.command, environment, side.log, {orders[0], answers[1]});
  } catch (...) {
    close_theirs();
    throw;
  }
  close_theirs();
}

const SideHello& ResidentSide::await_hello() {
  const auto start = Steady::now();
  const std::string line = line_within(patience_.start, "being ready");
  start_seconds_ = seconds_since(start);
  try {
    hello_ = parse_hello(line);
    // The first one is the shell; who answers is one of those that it started.
    processes_ = session_processes(process_->id());
  } catch (const ProtocolError& error) {
    fail(fmt::format("{} (a 'harness run' becomes a side by --lockstep)", error.what()));
  }
  return hello_;
}

TimedAnswer ResidentSide::step(std::int64_t count) {
  begin(count);
  return answer();
}

void ResidentSide::begin(std::int64_t count) {
  const double expected = patience_.times_slowest * slowest_ * static_cast<double>(count);
  // Of the first one nothing is known but that its start had so long.
  const double limit = slowest_ > 0 ? std::max(patience_.answer, expected) : patience_.start;
  turn_ = {count, limit, waits(), Steady::now()};
  send({OrderKind::kStep, count});
}

std::optional<TimedAnswer> ResidentSide::work_for(double seconds) {
  constexpr double kGlance = 1e-3;  // so often one that sleeps is looked at
  constexpr int kMostUndone = 20;
  auto start = Steady::now();
  while (undone_ < kMostUndone) {
    const double left = seconds - seconds_since(start);
    if (auto timed = answer_within(std::max(left, kGlance))) return timed;
    if (seconds_since(start) < seconds || !works()) continue;
    if (pause()) return std::nullopt;
    start = Steady::now();  // what cannot be stopped now has another slice
  }
  return answer();
}

TimedAnswer ResidentSide::answer() {
  while (true) {
    if (auto timed = answer_within(kTickSeconds)) return std::move(*timed);
  }
}

std::optional<TimedAnswer> ResidentSide::answer_within(double seconds) {
  if (const auto line = next_line(seconds)) return timed_answer(*line);
  if (turn_.worked + seconds_since(turn_.since) > turn_.limit) {
    fail_as_hanging(turn_.limit, "an answer");
  }
  return std::nullopt;
}

/// False where it goes on: it has answered, or did not stand still at once. It was seen at work,
/// but while its last thread stops, or this process waits for a processor, a sleep may begin.
bool ResidentSide::pause() {
  constexpr double kAtOnce = 2e-3;
  const auto start = Steady::now();
  const auto still = [&] {
    return std::all_of(processes_.begin(), processes_.end(), stands_still);
  };
  ::kill(-process_->id(), SIGSTOP);
  while (!still() && seconds_since(start) < kAtOnce) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  const bool at_once = seconds_since(start) < kAtOnce;
  undone_ = at_once ? 0 : undone_ + 1;
  if (!at_once || channel_->has_more()) {
    ::kill(-process_->id(), SIGCONT);
    return false;
  }
  turn_.worked += seconds_since(turn_.since);
  turn_.since = Steady::now();
  return true;
}

void ResidentSide::resume() {
  if (process_->ended_within(0)) fail("is gone");
  if (channel_->has_more()) {
    fail("says \"slices\": true, and answers while it is stopped: it runs elsewhere");
  }
  const double stopped = seconds_since(turn_.since);
  turn_.since = Steady::now();
  turn_.stopped += stopped;
  stops_.add(stopped);
  ::kill(-process_->id(), SIGCONT);
  // Who waits to stop a side does not hold it up; who waits to hear its answer does.
  turn_.waits.own = own_processor_wait();
}

TimedAnswer ResidentSide::timed_answer(const std::string& line) {
  TimedAnswer timed;
  timed.parent_seconds = turn_.worked + seconds_since(turn_.since);
  timed.stopped_seconds = turn_.stopped;
  const Waits after = waits();
  double theirs = 0;  // of who waited longest: the one that answers, or others that it waits for
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    theirs = std::max(theirs, after.theirs[i] - turn_.waits.theirs[i]);
  }
  timed.waited_seconds =
      std::clamp(after.own - turn_.waits.own + theirs, 0.0, timed.parent_seconds);
  try {
    timed.answer = parse_answer(line, turn_.count);
  } catch (const ProtocolError& error) {
    fail(error.what());
  }
  if (!hello_.leaves_out_stops) leave_out_stops(timed, timed.answer);
  // What it tells may not buy it more patience than it took.
  for (const double seconds : timed.answer.seconds) {
    slowest_ = std::max(slowest_, std::min(seconds, timed.parent_seconds));
  }
  return timed;
}

std::optional<Quality> ResidentSide::evaluate() {
  send({OrderKind::kEvaluate, 0});
  const std::string line = line_within(patience_.start, "an answer");
  try {
    return parse_quality(line);
  } catch (const ProtocolError& error) {
    fail(error.what());
  }
}

int ResidentSide::finish() {
  try {
    channel_->send(order_line({OrderKind::kFinish, 0}));
  } catch (const ProtocolError&) {
    // It has ended already, which is what is asked of it.
  }
  const auto start = Steady::now();
  while (seconds_since(start) < kFinishSeconds) {
    if (const auto end = process_->ended_within(kTickSeconds)) return end->exit_code();
    if (interrupt_requested()) throw Interrupted();
  }
  fail(fmt::format("did not end within {}", format_time_left(kFinishSeconds)));
}

double ResidentSide::cpu_seconds() const { return session_cpu_seconds(process_->id()); }

ResidentSide::Waits ResidentSide::waits() const {
  Waits waits{own_processor_wait(), {}};
  for (const pid_t process : processes_) waits.theirs.push_back(processor_wait(process));
  return waits;
}

double ResidentSide::memory_to_come() const {
  double bytes = 0;
  for (const pid_t process : processes_) bytes += memory_given_back(process);
  return bytes;
}

bool ResidentSide::works() const {
  return std::any_of(processes_.begin(), processes_.end(), harness::works);
}

void ResidentSide::send(const StepOrder& order) {
  if (channel_->has_more()) {
    std::string more = "its output ended";
    try {
      more = "it speaks without being asked: '" +
             printable(channel_->line_within(0).value_or("half a line"), 80) + "'";
    } catch (const ProtocolError& error) {
      more = error.what();
    }
    fail(more);
  }
  try {
    channel_->send(order_line(order));
  } catch (const ProtocolError& error) {
    fail(error.what());
  }
}

std::optional<std::string> ResidentSide::next_line(double seconds) {
  if (interrupt_requested()) throw Interrupted();
  try {
    // Who has ended says nothing more, even where somebody it left behind holds the pipe.
    const bool ended = process_->ended_within(0).has_value();
    if (auto line = channel_->line_within(std::min(seconds, kTickSeconds))) return line;
    if (ended) fail("is gone");
  } catch (const ProtocolError& error) {
    fail(error.what());
  }
  return std::nullopt;
}

std::string ResidentSide::line_within(double limit, const std::string& for_what) {
  const auto start = Steady::now();
  while (true) {
    const double left = limit - seconds_since(start);
    if (left <= 0) fail_as_hanging(limit, for_what);
    if (auto line = next_line(left)) return *line;
  }
}

void ResidentSide::fail_as_hanging(double limit, const std::string& for_what) {
  fail(fmt::format("hangs: {} without {}", format_time_left(limit), for_what));
}

void ResidentSide::fail(const std::string& why) {
  const auto end = process_->ended_within(kLastWords);
  if (end) throw SideFailure(fmt::format("{}; it {}", why, how_it_ended(*end)));
  throw SideFailure(why);
}

std::string ResidentSide::how_it_ended(const KeptRun& end) const {
  if (end.start_errno != 0) {
    return std::string("could not be started: ") + std::strerror(end.start_errno);
  }
  const std::string how =
      WIFEXITED(end.status)
          ? fmt::format("ended with exit code {}", WEXITSTATUS(end.status))
          : fmt::format(
                "was ended by signal {} (9 is what a machine sends that runs out of memory)",
                WTERMSIG(end.status));
  return fmt::format("{}, and said: {}", how, last_line(side_.log));
}

}  // namespace harness
