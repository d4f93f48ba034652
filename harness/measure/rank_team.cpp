#include "harness/measure/rank_team.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judgement.hpp"
#include "harness/measure/identity.hpp"
#include "harness/measure/own_process.hpp"
#include "harness/measure/rank_order.hpp"
#include "harness/measure/stop_notice.hpp"
#include "harness/scenario/step_timer.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr int kPauseMilliseconds = 50;
// When one is gone the others notice it at their next word to it, at the end of a step at the
// latest, and hand over what they have.
constexpr double kPatienceSeconds = 8;
// We see for ourselves when one is lost. Until then a rank waits as long as another needs, be it to
// look through a large data set.
constexpr double kNeverSeconds = 30.0 * 24 * 3600;
// So long a rank may stand still (SIGSTOP, a debugger) before it counts as lost.
constexpr double kStillSeconds = 5;

/// A folder that only its user may enter, for as long as this lives.
class MeetingFolder {
 public:
  MeetingFolder() {
    std::string name = (fs::temp_directory_path() / "harness-ranks-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw Error(printable(name), std::string("cannot be made: ") + std::strerror(errno),
                  "TMPDIR names another folder for temporary files");
    }
    path_ = name;
  }
  ~MeetingFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  MeetingFolder(const MeetingFolder&) = delete;
  MeetingFolder& operator=(const MeetingFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// The letter of a process's state in /proc: 'T' is stopped, 't' by a debugger; ' ' where nothing
/// can be read.
char state_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= text.size() ? ' ' : text[name_end + 2];
}

/// Both ends of a pipe, which children do not inherit.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("--ranks", std::strerror(errno));
    read_ = ends[0];
    write_ = ends[1];
  }
  ~Pipe() {
    ::close(read_);
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int write_end() const { return write_; }
  int read_end() const { return read_; }
  void close_write() {
    if (write_ >= 0) ::close(std::exchange(write_, -1));
  }

 private:
  int read_ = -1;
  int write_ = -1;
};

struct Member {
  pid_t process = 0;
  std::unique_ptr<Pipe> pipe{};
  std::string handed_over{};
  bool closed = false;  ///< nothing more will come through the pipe
  bool ended = false;
  int status = 0;
  double still_since = 0;  ///< 0: it is not standing still
  std::string lost{};      ///< how it was lost; empty: it ended by itself, if it did
  bool given_up = false;   ///< it was in good order, but did not end when another was lost
};

/// The processes; those that are left are killed with it.
class Team {
 public:
  explicit Team(std::size_t ranks) : members_(ranks) {}

  void start(const RunPlan& plan, const MeasureTask& task, const fs::path& folder) {
    const std::vector<std::vector<int>> cpus =
        share_cpus(plan.cpus.empty() ? usable_cpus().cpus : plan.cpus, plan.ranks);
    const std::vector<std::string> arguments(task.command_line.begin() + 2,
                                             task.command_line.end());
    const Identity identity = make_identity(task.position, task.command_line);
    for (int rank = 0; rank < plan.ranks; ++rank) {
      RankOrder order;
      order.place = {rank, plan.ranks, folder / "meeting", kNeverSeconds};
      order.cpus = cpus[static_cast<std::size_t>(rank)];
      order.position = task.position;
      order.seed = plan.context.seeds.run;
      order.out = task.out;
      order.stem = task.stem;
      order.uuid = identity.uuid;
      order.started_at = identity.started_at;
      order.folder = folder;
      Member& member = members_[static_cast<std::size_t>(rank)];
      member.pipe = std::make_unique<Pipe>();
      // The first one speaks for all, on our own standard error.
      member.process =
          start_run(arguments, variable_of(order),
                    {rank == 0 ? fs::path() : rank_errors(folder, rank), member.pipe->write_end()});
      member.pipe->close_write();
    }
  }

  ~Team() {
    for (Member& member : members_) {
      if (member.ended || member.process == 0) continue;
      ::kill(member.process, SIGKILL);
      ::waitpid(member.process, &member.status, 0);
    }
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Returns when all have ended, by themselves or not.
  void watch() {
    const StopMessage by_the_first(nullptr);
    bool forwarded = false;
    double trouble_since = 0;
    while (std::any_of(members_.begin(), members_.end(),
                       [](const Member& member) { return !member.ended || !member.closed; })) {
      if (interrupt_requested() && !std::exchange(forwarded, true)) tell_all(SIGTERM);
      const double now = steady_seconds();
      for (std::size_t rank = 0; rank < members_.size(); ++rank) {
        look_after(members_[rank], now);
        const Member& member = members_[rank];
        const bool failed = member.ended && (member.status != 0 || !member.lost.empty());
        if (failed && trouble_since == 0) trouble_since = now;
      }
      if (trouble_since > 0 && now - trouble_since > kPatienceSeconds) give_up();
      listen();
    }
  }

  const Member& member(int rank) const { return members_.at(static_cast<std::size_t>(rank)); }

 private:
  void tell_all(int signal) {
    for (const Member& member : members_) {
      if (!member.ended) ::kill(member.process, signal);
    }
  }

  /// Takes what ranks hand over; returns a little later where none does.
  void listen() {
    std::vector<pollfd> ends;
    std::vector<Member*> speakers;
    for (Member& member : members_) {
      if (member.closed) continue;
      ends.push_back({member.pipe->read_end(), POLLIN, 0});
      speakers.push_back(&member);
    }
    const int ready = ::poll(ends.data(), ends.size(), kPauseMilliseconds);
    if (ends.empty() && ready == 0) return;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].revents == 0) continue;
      std::array<char, 1 << 16> bytes{};
      const ssize_t count = ::read(ends[i].fd, bytes.data(), bytes.size());
      if (count > 0) {
        speakers[i]->handed_over.append(bytes.data(), static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        speakers[i]->closed = true;
      }
    }
  }

  void give_up() {
    for (Member& member : members_) {
      if (member.ended || !member.lost.empty()) continue;
      member.given_up = true;
      member.lost = "was ended, since its step went on after another rank was lost";
      ::kill(member.process, SIGKILL);
    }
  }

  static void look_after(Member& member, double now) {
    if (member.ended) return;
    if (::waitpid(member.process, &member.status, WNOHANG) == member.process) {
      member.ended = true;
      if (WIFSIGNALED(member.status) && member.lost.empty()) {
        member.lost = signal_text(member.status);
      }
      return;
    }
    const char state = state_of(member.process);
    if (state != 'T' && state != 't') {
      member.still_since = 0;
    } else if (member.still_since == 0) {
      member.still_since = now;
    } else if (now - member.still_since > kStillSeconds) {
      member.lost = "its process stands still";
      ::kill(member.process, SIGKILL);
    }
  }

  std::vector<Member> members_;
};

/// What the rank's process said last, on the way to an end that it did not hand over.
std::string last_words(const fs::path& folder, int rank) {
  std::ifstream file(rank_errors(folder, rank));
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return printable(last, 200);
}

/// What came of all ranks, by rank.
class Outcome {
 public:
  Outcome(const Team& team, const fs::path& folder, int ranks, fs::path samples)
      : samples_(std::move(samples)) {
    for (int rank = 0; rank < ranks; ++rank) {
      ends_.push_back(rank_end(team.member(rank).handed_over));
      const RankEnd& end = ends_.back();
      std::string why = team.member(rank).lost;
      if (why.empty() && !end.result && !end.error) {
        why = last_words(folder, rank);
        if (why.empty()) why = "its process ended without a word";
      }
      if (!why.empty() && cause_.empty() && !team.member(rank).given_up) {
        cause_ = fmt::format("rank {}: {}", rank, why);
      }
      lost_.push_back(why);
    }
  }

  /// Of the first rank that has a result, with what all tell of themselves.
  Result merged() const {
    const auto first = std::find_if(ends_.begin(), ends_.end(),
                                    [](const RankEnd& end) { return end.result.has_value(); });
    if (first == ends_.end()) throw_error();
    Result result = *first->result;
    result.world->members.clear();
    for (std::size_t rank = 0; rank < ends_.size(); ++rank) {
      if (const auto& theirs = ends_[rank].result) {
        result.world->members.push_back(theirs->world->members.front());
        continue;
      }
      RankReport missing;
      missing.rank = static_cast<std::int64_t>(rank);
      missing.missing = why_missing_of(rank);
      result.world->members.push_back(missing);
    }
    if (result.status.state == RunState::kAborted) {
      name_cause(result);
    } else if (!cause_.empty()) {
      result.status.recommendations.push_back(cause_ + ", after the last step");
    }
    return result;
  }

 private:
  std::string why_missing_of(std::size_t rank) const {
    if (!lost_[rank].empty()) return lost_[rank];
    return ends_[rank].error ? ends_[rank].error->what() : "unknown";
  }

  /// The error that another rank's end follows from, before those that only say that one is gone.
  [[noreturn]] void throw_error() const {
    const Error* error = nullptr;
    for (const RankEnd& end : ends_) {
      if (end.error && !end.lost_another) throw Error(*end.error);
      if (end.error && error == nullptr) error = &*end.error;
    }
    if (cause_.empty() && error != nullptr) throw Error(*error);
    throw Error("--ranks", cause_,
                holds_a_step() ? "what was measured is in " + printable(samples_.string())
                               : "nothing was measured",
                ExitCode::kAborted);
  }

  bool holds_a_step() const {
    std::ifstream file(samples_);
    std::string line;
    return std::getline(file, line) && std::getline(file, line);
  }

  /// A result of a rank that was left alone says only that; what was behind it says another.
  void name_cause(Result& result) const {
    const auto own = std::find_if(ends_.begin(), ends_.end(), [](const RankEnd& end) {
      return !end.lost_another && end.result && end.result->status.state == RunState::kAborted;
    });
    if (own != ends_.end()) {
      result.status.violations = own->result->status.violations;
      return;
    }
    std::string cause = cause_;
    for (std::size_t rank = 0; cause.empty() && rank < ends_.size(); ++rank) {
      const RankEnd& end = ends_[rank];
      if (end.error && !end.lost_another)
        cause = fmt::format("rank {}: {}", rank, end.error->what());
    }
    for (Violation& violation : result.status.violations) {
      if (!cause.empty() && violation.rule == kCompletedRule) violation.actual = cause;
    }
  }

  fs::path samples_;  ///< of the first rank
  std::vector<RankEnd> ends_;
  std::vector<std::string> lost_;  ///< how each was lost, by rank; empty: it handed something over
  std::string cause_;              ///< of the first that was lost
};

}  // namespace

Result measure_in_ranks(const RunPlan& plan, const MeasureTask& task) {
  const MeetingFolder folder;
  const nlohmann::json before = capture_environment();
  Team team(static_cast<std::size_t>(plan.ranks));
  team.start(plan, task, folder.path());
  team.watch();
  Result result =
      Outcome(team, folder.path(), plan.ranks, task.out / (task.stem + ".jsonl")).merged();
  // Over the processors of all ranks, none of which is a stranger to us.
  if (!task.saved_run) result.environment_before = before;
  result.environment_after = capture_environment();
  judge_machine(result);
  if (result.status.state == RunState::kAborted && !interrupt_requested()) {
    for (const Violation& violation : result.status.violations) {
      if (violation.rule == kCompletedRule) tell_failure(StopReason::kFailed, violation.actual);
    }
  }
  return result;
}

}  // namespace harness
