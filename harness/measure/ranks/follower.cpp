#include "harness/measure/ranks/follower.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/base/hash.hpp"
#include "harness/base/print.hpp"
#include "harness/check/judgement.hpp"
#include "harness/measure/ranks/handshake.hpp"
#include "harness/measure/ranks/hang_up.hpp"
#include "harness/measure/ranks/meeting_guest.hpp"
#include "harness/measure/ranks/member.hpp"
#include "harness/measure/ranks/order.hpp"
#include "harness/measure/ranks/sites.hpp"
#include "harness/scenario/step_timer.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kPauseMilliseconds = 50;
// So long rank 0 may be busy with the result, and silent.
constexpr double kWritingSeconds = 120;

/// The line to rank 0, with signs of life both ways.
class Line {
 public:
  Line(const WorldPlace& place, const json& here)
      : rank_(place.rank), guest_(place, kLauncher, here) {}

  int descriptor() const { return guest_.descriptor(); }
  void say(const json& message) const { guest_.say(message); }

  /// What rank 0 says, if anything. Throws LostRank where it is gone or silent for so long.
  std::optional<json> hear(double silence = kSilenceSeconds) {
    const double now = steady_seconds();
    // Heard before anything is said: its last word is there to be read when it has gone already.
    std::optional<json> message = guest_.hear_within(0);
    if (message) {
      heard_ = now;
      return message;
    }
    if (now - heard_ > silence) throw LostRank("the machine of rank 0 does not answer");
    if (now - said_ > kSignSeconds) {
      guest_.say(json::object());
      said_ = now;
    }
    return message;
  }

  /// Waits for a message with `key`, or for the end.
  json wait_for(const char* key, double silence = kSilenceSeconds) {
    const double start = steady_seconds();
    bool noticed = false;
    while (true) {
      // The end comes to who was interrupted, too.
      if (interrupt_requested() && std::string_view(key) != "done") throw Interrupted();
      if (steady_seconds() - start > kNoticeSeconds && !std::exchange(noticed, true)) {
        print_err("rank " + std::to_string(rank_) + " waits for others\n");
      }
      pollfd file{guest_.descriptor(), POLLIN, 0};
      ::poll(&file, 1, kPauseMilliseconds);
      const std::optional<json> message = hear(silence);
      if (message && message->contains("done")) return *message;
      if (message && message->contains(key)) return *message;
    }
  }

 private:
  int rank_;
  MeetingGuest guest_;
  double said_ = steady_seconds();
  double heard_ = steady_seconds();
};

void wait_for_a_word(const Member& member, int other) {
  std::array<pollfd, 2> files{member.speaks_at(), pollfd{other, POLLIN, 0}};
  ::poll(files.data(), files.size(), kPauseMilliseconds);
}

/// Where rank 0 is lost: the rank ends with its step, or is killed.
void let_end(Member& member) {
  member.tell(SIGTERM);
  member.tell(kHangUpSignal);
  const double until = steady_seconds() + kPatienceSeconds;
  while (!member.done() && steady_seconds() < until) {
    wait_for_a_word(member, -1);
    member.listen();
    member.look_after(steady_seconds());
  }
}

/// Until the rank has ended. What rank 0 said where it was done before.
std::optional<json> watch(Member& member, Line& line) {
  const StopMessage by_the_first(nullptr);
  bool forwarded = false;
  try {
    while (!member.done()) {
      if (interrupt_requested() && !std::exchange(forwarded, true)) member.tell(SIGTERM);
      wait_for_a_word(member, line.descriptor());
      member.listen();
      member.look_after(steady_seconds());
      std::optional<json> message = line.hear();
      if (message && message->contains("hang_up")) member.tell(kHangUpSignal);
      if (message && message->contains("give_up")) member.give_up();
      if (message && message->contains("done")) return message;
    }
    return std::nullopt;
  } catch (const LostRank&) {
    let_end(member);
    throw;
  }
}

/// What was seen of this machine around the run: why it is not to be trusted, and the processor
/// time that the rank took, which is no stranger's to other ranks of the machine.
json seen_since(const json& before, const RankSite& site) {
  ResultCommon here;
  here.system = capture_system();
  here.environment_before = before;
  here.environment_after = capture_environment();
  // Other ranks that share this machine's processors are no strangers, as sides in lockstep are
  // none.
  here.rules.lockstep = site.ranks_here > 1;
  judge_machine(here);
  const double own = here.environment_after.value(kOwnCpuSeconds, 0.0);
  return {{"doubts", here.status.mistrust_reasons},
          {"cpu_seconds", own - before.value(kOwnCpuSeconds, 0.0)}};
}

void hand_over(const Member& member, const Line& line, json seen) {
  const MemberEnd end = member.end();
  for (std::size_t at = 0; at < end.handed_over.size(); at += kPieceBytes) {
    line.say({{"piece", hex_text(end.handed_over.substr(at, kPieceBytes))}});
  }
  seen.update({{"ended", end.lost}, {"failed", member.failed()}, {"given_up", end.given_up}});
  line.say(seen);
}

/// One run; what rank 0 says behind it.
json follow_run(const WorldPlace& place, const FollowTask& task, const std::vector<int>& cpus,
                const json& start, Line& line) {
  try {
    RankOrder order = order_from(start.at("start"));
    order.place = place;
    order.cpus = cpus_of(order.site, cpus);
    std::vector<std::string> arguments = task.arguments;
    if (arguments.empty()) {
      arguments = start.at("arguments").get<std::vector<std::string>>();
      fs::current_path(start.at("working_folder").get<std::string>());
    }
    if (!task.out.empty()) order.out = fs::absolute(task.out);
    fs::create_directories(order.out);
    const RanksFolder folder;
    const json before = capture_environment();
    Member member(order, arguments, folder.path() / "rank.log");
    if (const auto done = watch(member, line)) return *done;
    hand_over(member, line, seen_since(before, order.site));
  } catch (const LostRank&) {
    throw;
  } catch (const std::exception& error) {
    line.say({{"ended", reason(error)}, {"failed", true}, {"given_up", false}});
  }
  return line.wait_for("done", kWritingSeconds);
}

}  // namespace

ExitCode follow_ranks(const WorldPlace& place, const FollowTask& task) {
  const std::vector<int> cpus = task.cpus.empty() ? usable_cpus().cpus : task.cpus;
  const json here = site_here(task.cpus);
  WorldPlace meeting = place;
  auto first = ExitCode::kOk;
  while (true) {
    Line line(meeting, here);
    json message = line.wait_for("start");
    if (message.contains("start")) message = follow_run(meeting, task, cpus, message, line);
    const auto code = static_cast<ExitCode>(message.at("done").get<int>());
    if (first == ExitCode::kOk) first = code;
    if (!message.value("more", false)) return first;
    meeting.timeout_seconds = place.timeout_seconds + task.pause_seconds;
  }
}

}  // namespace harness
