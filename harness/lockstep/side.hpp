// Another process as a resident side, seen by its parent (docs/lockstep.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/steady.hpp"
#include "harness/lockstep/keeper.hpp"
#include "harness/lockstep/line_channel.hpp"
#include "harness/lockstep/protocol.hpp"
#include "harness/lockstep/stops.hpp"

namespace harness {

struct SideCommand {
  std::string name{};
  std::string command{};                                           ///< for /bin/sh
  std::vector<std::pair<std::string, std::string>> environment{};  ///< on top of ours
  std::filesystem::path log{};  ///< a new file for what it prints to standard error
  bool evaluated = true;        ///< false: where a cluster evaluates its sides, not this one
  /// It is a `harness run`, which says so at once where it would speak to somebody else.
  bool knows_its_output = false;
};

/// How long a side is waited for, in seconds.
struct SidePatience {
  double start = 1800;        ///< until it is prepared and warmed up
  double answer = 60;         ///< at least, for an answer
  double times_slowest = 20;  ///< and so many times as long as its slowest step took so far
};

/// A side that died, hangs, or answers nonsense; what() says which, without its name.
class SideFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct TimedAnswer {
  TurnAnswer answer{};        ///< its times without those in which it was stopped
  double parent_seconds = 0;  ///< from the order to the answer, by this process's clock; likewise
  /// Of them: at most so long somebody waited for a processor that others had.
  double waited_seconds = 0;
  double stopped_seconds = 0;  ///< between the order and the answer
};

/// Its process ends with this object at the latest.
class ResidentSide {
 public:
  /// Starts it. Throws Error where that is not possible.
  explicit ResidentSide(const SideCommand& side, SidePatience patience = {});

  // All throw SideFailure, and Interrupted when asked to stop.
  const SideHello& await_hello();
  TimedAnswer step(std::int64_t count);
  // The same piece by piece: begin(), then work_for() and resume() in turn until there is an
  // answer, which answer() waits for.
  void begin(std::int64_t count);
  /// Its answer; or nothing, and it stands still, having worked for so many seconds or more. One of
  /// which no thread works then is waited for: who stopped it would take time away that belongs to
  /// its step. One that cannot be stopped answers.
  std::optional<TimedAnswer> work_for(double seconds);
  void resume();
  TimedAnswer answer();
  std::optional<Quality> evaluate();
  /// Lets it end by itself; returns its exit code.
  int finish();

  /// From its start to its hello.
  double start_seconds() const { return start_seconds_; }
  /// Processor time so far.
  double cpu_seconds() const;
  /// By how many bytes its memory may grow in a step, as far as its warm-up tells.
  double memory_to_come() const;

 private:
  /// Seconds that this thread and the side's processes waited for a processor, so far.
  struct Waits {
    double own = 0;
    std::vector<double> theirs{};
  };
  Waits waits() const;

  /// An order of steps that is not answered yet.
  struct Turn {
    std::int64_t count = 0;
    double limit = 0;            ///< seconds that it may work
    Waits waits{};               ///< before it
    Steady::time_point since{};  ///< when it was begun, resumed or paused
    double worked = 0;           ///< seconds, until then
    double stopped = 0;
  };

  void send(const StepOrder& order);
  /// Its next line if it comes within so many seconds, or until a signal does.
  std::optional<std::string> next_line(double seconds);
  std::string line_within(double limit, const std::string& for_what);
  std::optional<TimedAnswer> answer_within(double seconds);
  TimedAnswer timed_answer(const std::string& line);
  bool works() const;
  bool pause();
  [[noreturn]] void fail(const std::string& why);
  [[noreturn]] void fail_as_hanging(double limit, const std::string& for_what);
  std::string how_it_ended(const KeptRun& end) const;

  SideCommand side_;
  SidePatience patience_;
  std::optional<LineChannel> channel_{};
  std::unique_ptr<KeptProcess> process_{};
  SideHello hello_{};
  std::vector<pid_t> processes_{};  ///< as they were when it was ready
  StopsTold stops_{};
  Turn turn_{};
  int undone_ = 0;  ///< stops, one after the other
  double start_seconds_ = 0;
  double slowest_ = 0;
};

}  // namespace harness
