#include "harness/measure/ranks/team.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judgement.hpp"
#include "harness/measure/identity.hpp"
#include "harness/measure/ranks/handshake.hpp"
#include "harness/measure/ranks/hang_up.hpp"
#include "harness/measure/ranks/meeting.hpp"
#include "harness/measure/ranks/member.hpp"
#include "harness/measure/ranks/order.hpp"
#include "harness/measure/ranks/outcome.hpp"
#include "harness/measure/ranks/sites.hpp"
#include "harness/measure/stop_notice.hpp"
#include "harness/measure/trace_file.hpp"
#include "harness/scenario/step_timer.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kPauseSeconds = 0.05;

std::string errors_name(int rank) { return fmt::format("rank-{}.log", rank); }

/// The ranks of a run: on this machine those that we start, on others those whose launchers have
/// come to the meeting.
class Team {
 public:
  Team(const RunPlan& plan, const MeasureTask& task)
      : plan_(plan),
        task_(task),
        world_(plan.ranks),
        meeting_(task.place ? task.place->meeting : MeetingPlace{"127.0.0.1", 0, random_hex(16)},
                 plan.ranks, task.place ? task.place->timeout_seconds : 0) {}

  ~Team() {
    // Whoever still listens has heard of no end: there was none.
    if (!dismissed_) dismiss(ExitCode::kAborted, false);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Returns when all have come that we do not start ourselves. Throws Error where one does not.
  void gather() {
    if (!task_.place) return;
    const double start = steady_seconds();
    bool noticed = false;
    while (std::ssize(meeting_.launchers()) < world_ - 1) {
      meeting_.serve(kPauseSeconds);
      meeting_.forget_gone();
      if (interrupt_requested()) throw Interrupted();
      const double waited = steady_seconds() - start;
      if (waited > task_.place->timeout_seconds) {
        throw Error(missing(),
                    fmt::format("not at {} within {:g} s", address(), task_.place->timeout_seconds),
                    "all ranks are started alike, each with its own number");
      }
      if (waited > kNoticeSeconds && !std::exchange(noticed, true)) {
        print_err(fmt::format("waiting at {} for {}, at most {:g} s\n", address(), missing(),
                              task_.place->timeout_seconds));
      }
    }
  }

  void start() {
    std::vector<json> said(static_cast<std::size_t>(world_), site_here(plan_.cpus));
    for (const auto& [rank, launcher] : meeting_.launchers()) {
      said[static_cast<std::size_t>(rank)] = launcher.here;
    }
    sites_ = sites_of(said);
    refuse_crowd(said);
    RankOrder order;
    order.place = {0, world_, meeting_.place()};
    order.threads = common_threads(said, sites_);
    order.position = task_.position;
    order.seed = plan_.context.seeds.run;
    order.out = task_.out;
    order.stem = task_.stem;
    const Identity identity = make_identity(task_.position, task_.command_line);
    order.uuid = identity.uuid;
    order.started_at = identity.started_at;
    const std::vector<std::string> arguments(task_.command_line.begin() + 2,
                                             task_.command_line.end());
    const std::vector<int> cpus = plan_.cpus.empty() ? usable_cpus().cpus : plan_.cpus;
    for (int rank = 0; rank < world_; ++rank) {
      order.place.rank = rank;
      order.site = sites_[static_cast<std::size_t>(rank)];
      if (meeting_.launchers().contains(rank)) {
        RankOrder theirs = order;
        theirs.place.meeting = {};  // which they know, and the key is not for the way
        meeting_.tell(rank, {{"start", to_json(theirs)},
                             {"arguments", arguments},
                             {"working_folder", fs::current_path().string()}});
        continue;
      }
      order.cpus = cpus_of(order.site, cpus);
      // The first one speaks for all, on our own standard error.
      members_[rank] = std::make_unique<Member>(
          order, arguments, rank == 0 ? fs::path() : folder_.path() / errors_name(rank));
    }
  }

  /// Returns when all have ended, by themselves or not.
  void watch() {
    const StopMessage by_the_first(nullptr);
    bool forwarded = false;
    double trouble_since = 0;
    double hung_up = 0;
    while (!all_done()) {
      if (interrupt_requested() && !std::exchange(forwarded, true)) {
        for (const auto& [rank, member] : members_) member->tell(SIGTERM);
      }
      serve();
      const double now = steady_seconds();
      for (const auto& [rank, member] : members_) member->look_after(now);
      if (trouble_since == 0) trouble_since = began_trouble(now);
      if (trouble_since > 0 && now - hung_up > kSignSeconds) {
        hung_up = now;
        for (const auto& [rank, member] : members_) member->tell(kHangUpSignal);
        tell_all({{"hang_up", true}});
      }
      if (trouble_since > 0 && now - trouble_since > kPatienceSeconds) {
        for (const auto& [rank, member] : members_) member->give_up();
        if (!std::exchange(given_up_, true)) tell_all({{"give_up", true}});
      }
    }
  }

  /// By rank.
  std::vector<MemberEnd> ends() {
    std::vector<MemberEnd> ends;
    for (int rank = 0; rank < world_; ++rank) {
      const auto member = members_.find(rank);
      ends.push_back(member != members_.end() ? member->second->end() : end_elsewhere(rank));
    }
    return ends;
  }
  const std::vector<RankSite>& sites() const { return sites_; }

  /// Those of the machine of rank 0.
  std::vector<int> ranks_here() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < world_; ++rank) {
      if (sites_[static_cast<std::size_t>(rank)].node == sites_.front().node) ranks.push_back(rank);
    }
    return ranks;
  }

  /// This machine behind the run. What ranks took that others started here, on CPUs that are
  /// counted, is no stranger's time.
  json environment_after() const {
    json after = capture_environment();
    const std::vector<int> counted = allowed_cpus();
    for (const int rank : ranks_here()) {
      const auto launcher = meeting_.launchers().find(rank);
      if (launcher == meeting_.launchers().end()) continue;
      const auto theirs = launcher->second.here.at("cpus").get<std::vector<int>>();
      if (!std::includes(counted.begin(), counted.end(), theirs.begin(), theirs.end())) continue;
      after[kOwnCpuSeconds] = after.value(kOwnCpuSeconds, 0.0) + launcher->second.cpu_seconds;
    }
    return after;
  }

  /// What the other machines say of themselves, once each.
  void add_doubts(Status& status) {
    constexpr std::size_t kMostReasons = 40;  // a result holds 100
    constexpr std::size_t kLongest = 300;
    std::set<int> seen = {sites_.front().node};
    std::size_t more = 0;
    for (const auto& [rank, launcher] : meeting_.launchers()) {
      const int node = sites_[static_cast<std::size_t>(rank)].node;
      if (!launcher.ended || !seen.insert(node).second || launcher.doubts.empty()) continue;
      status.mistrusted = true;
      for (const std::string& doubt : launcher.doubts) {
        if (status.mistrust_reasons.size() >= kMostReasons) {
          ++more;
          continue;
        }
        status.mistrust_reasons.push_back(
            fmt::format("machine of rank {}: {}", rank, printable(doubt, kLongest)));
      }
    }
    if (more == 0) return;
    status.mistrust_reasons.push_back(fmt::format("{} more on other machines", more));
  }

  /// What `work` returns. Where it throws, the others end with the code of that.
  template <class Work>
  auto or_dismissed(const Work& work) {
    try {
      return work();
    } catch (const Error& error) {
      dismiss(error.code(), false);
      throw;
    }
  }

  /// The others end with `code`; where there is `more` they come again, for the next run.
  void dismiss(ExitCode code, bool more) {
    dismissed_ = true;
    tell_all({{"done", static_cast<int>(code)}, {"more", more}});
  }

 private:
  /// Ranks that others started are counted only now.
  void refuse_crowd(const std::vector<json>& said) const {
    if (plan_.asked("oversubscribe") == true) return;
    for (std::size_t rank = 0; rank < said.size(); ++rank) {
      const auto cpus = said[rank].at("cpus").size();
      if (static_cast<std::size_t>(sites_[rank].parts) <= cpus) continue;
      throw Error(fmt::format("rank {}", rank),
                  fmt::format("shares {} with {} others",
                              format_count(std::ssize(said[rank].at("cpus")), "CPU"),
                              sites_[rank].parts - 1),
                  "fewer ranks on its machine, or --oversubscribe for all");
    }
  }

  void serve() {
    std::vector<pollfd> pipes;
    for (const auto& [rank, member] : members_) pipes.push_back(member->speaks_at());
    meeting_.serve(kPauseSeconds, pipes);
    for (const auto& [rank, member] : members_) member->listen();
  }

  bool all_done() {
    return std::all_of(members_.begin(), members_.end(),
                       [](const auto& one) { return one.second->done(); }) &&
           std::all_of(
               meeting_.launchers().begin(), meeting_.launchers().end(),
               [](const auto& one) { return one.second.ended || one.second.gone_since > 0; });
  }

  /// When it began; 0: there is none. Who fell silent did so a while ago.
  double began_trouble(double now) {
    double began = 0;
    for (const auto& [rank, member] : members_) {
      if (member->failed()) began = now;
    }
    for (const auto& [rank, launcher] : meeting_.launchers()) {
      if (launcher.failed) began = now;
      if (launcher.gone_since > 0) began = launcher.gone_since;
    }
    return began;
  }

  MemberEnd end_elsewhere(int rank) {
    const Meeting::Launcher& launcher = meeting_.launchers().at(rank);
    if (!launcher.ended) return {{}, "its machine does not answer, or its process is gone"};
    return {launcher.handed_over, *launcher.ended, launcher.given_up};
  }

  void tell_all(const json& message) {
    for (const auto& [rank, launcher] : meeting_.launchers()) meeting_.tell(rank, message);
  }

  std::string address() const {
    return fmt::format("{}:{}", meeting_.place().host, meeting_.place().port);
  }

  /// "ranks 1, 3".
  std::string missing() {
    constexpr std::size_t kMostNamed = 8;
    std::vector<std::string> ranks;
    for (int rank = 1; rank < world_; ++rank) {
      if (!meeting_.launchers().contains(rank)) ranks.push_back(std::to_string(rank));
    }
    const std::string what = ranks.size() == 1 ? "rank " : "ranks ";
    if (ranks.size() <= kMostNamed) return what + join(ranks, ", ");
    const std::size_t others = ranks.size() - kMostNamed;
    ranks.resize(kMostNamed);
    return fmt::format("{}{} and {} others", what, join(ranks, ", "), others);
  }

  const RunPlan& plan_;
  const MeasureTask& task_;
  int world_;
  const RanksFolder folder_;
  Meeting meeting_;
  std::map<int, std::unique_ptr<Member>> members_{};
  std::vector<RankSite> sites_{};
  bool given_up_ = false;  ///< of those elsewhere
  bool dismissed_ = false;
};

}  // namespace

Result measure_in_ranks(const RunPlan& plan, const MeasureTask& task) {
  Team team(plan, task);
  json before;
  const auto measured = [&] {
    team.gather();
    before = capture_environment();
    team.start();
    team.watch();
    return merged_result(team.ends(), team.sites(), task.out / (task.stem + ".jsonl"));
  };
  Result result = team.or_dismissed(measured);
  if (task.trace) join_traces(task.out, task.stem, team.ranks_here());
  // Over the processors of all ranks here, none of which is a stranger to us.
  result.environment_before = before;
  result.environment_after = team.environment_after();
  judge_machine(result);
  team.add_doubts(result.status);
  if (result.status.state == RunState::kAborted && !interrupt_requested()) {
    for (const Violation& violation : result.status.violations) {
      if (violation.rule == kCompletedRule) tell_failure(StopReason::kFailed, violation.actual);
    }
  }
  const ExitCode code = exit_code(result.status, false);
  team.dismiss(code, code != ExitCode::kAborted && !interrupt_requested() &&
                         task.position.index < task.position.count);
  return result;
}

}  // namespace harness
