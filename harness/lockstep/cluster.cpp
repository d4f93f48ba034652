#include "harness/lockstep/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "harness/base/steady.hpp"
#include "harness/lockstep/order.hpp"
#include "harness/lockstep/settling.hpp"
#include "harness/lockstep/shell_command.hpp"
#include "harness/system/memory_limit.hpp"

namespace harness {
namespace {

// Threads of OpenMP spin for some milliseconds behind a parallel region before they sleep; the next
// side must not share its processors with them.
constexpr std::chrono::milliseconds kRest{20};

class Cluster {
 public:
  Cluster(const std::vector<SideCommand>& commands, const LockstepPlan& plan, std::int64_t cluster,
          const TurnDone& turn_done)
      : commands_(commands), plan_(plan), turn_done_(turn_done) {
    record_.cluster = cluster;
    for (const SideCommand& command : commands) record_.sides.push_back({.name = command.name});
    processes_.resize(commands.size());
    slept_.resize(commands.size());
  }

  ClusterRecord run() {
    const auto start = Steady::now();
    try {
      for (const std::size_t i : balanced_order(record_.cluster, commands_.size())) start_side(i);
      shape_turns();
      wake_all();
      if (can_be_sliced()) record_.slice_seconds = plan_.slice_seconds;
      const auto rounds_start = Steady::now();
      for (std::int64_t round = 1; round <= plan_.rounds && go_on_; ++round) run_round(round);
      record_.rounds_seconds = seconds_since(rounds_start);
      for (std::size_t i = 0; i < commands_.size() && go_on_; ++i) end_side(i);
    } catch (const SideFailure& failure) {
      record_.failed = record_.sides[current_].name;
      record_.failure = failure.what();
    }
    processes_.clear();
    record_.seconds = seconds_since(start);
    return std::move(record_);
  }

 private:
  std::vector<std::size_t> order_of(std::int64_t round) const {
    const std::int64_t before = rounds_before(record_.cluster, plan_.rounds, commands_.size());
    return balanced_order(before + round, commands_.size());
  }

  // One after the other: the start-up is measured, too.
  void start_side(std::size_t i) {
    current_ = i;
    SideCommand command = commands_[i];
    command.environment.push_back(environment_padding());
    processes_[i] = std::make_unique<ResidentSide>(command, plan_.patience);
    record_.sides[i].hello = processes_[i]->await_hello();
    const std::string& unit = record_.sides[i].hello.unit;
    if (!plan_.unit.empty() && unit != plan_.unit) {
      throw SideFailure(fmt::format("its unit is '{}', and has to be '{}'", unit, plan_.unit));
    }
    record_.sides[i].start_seconds = processes_[i]->start_seconds();
    std::this_thread::sleep_for(kRest);
    falls_asleep(i);
  }

  void shape_turns() {
    record_.steps_per_turn = plan_.steps_per_turn.value_or(1);
    record_.settle = plan_.settle.value_or(0);
    if ((plan_.steps_per_turn && plan_.settle) || commands_.size() < 2) return;
    const std::vector<double> typical = typical_steps();
    if (!go_on_) return;
    const auto [shortest, longest] = std::minmax_element(typical.begin(), typical.end());
    if (!plan_.steps_per_turn) record_.steps_per_turn = steps_of_turn(*longest);
    if (!plan_.settle) record_.settle = measure_settling(settling_lap(*shortest, *longest));
  }

  /// Seconds of a step of each side: the least of three, since what is done once, or a disturbance,
  /// says nothing of the others. Of sides with long steps one tells enough.
  std::vector<double> typical_steps() {
    constexpr double kLong = 1;
    std::vector<double> least(commands_.size(), std::numeric_limits<double>::infinity());
    for (int lap = 0; lap < 3 && go_on_; ++lap) {
      for (std::size_t i = 0; i < commands_.size() && go_on_; ++i) {
        least[i] = std::min(least[i], untimed_lap(i, 1).front());
      }
      if (*std::min_element(least.begin(), least.end()) > kLong) break;
    }
    return least;
  }

  /// All sides step in turn, and the one that needs most speaks for all.
  std::int64_t measure_settling(std::int64_t steps) {
    if (steps == 0) return 0;
    std::vector<std::vector<std::vector<double>>> laps(commands_.size());
    for (std::int64_t lap = 0; lap < kSettlingLaps; ++lap) {
      for (std::size_t i = 0; i < laps.size() && go_on_; ++i) {
        laps[i].push_back(untimed_lap(i, steps));
      }
    }
    if (!go_on_) return 0;
    std::int64_t most = 0;
    for (const auto& own : laps) most = std::max(most, steps_to_settle(own));
    return most;
  }

  /// All have waited for others to start, which whoever steps first pays for: its first turn of
  /// 80 ms took 14 % longer in the median of 43 clusters, and no later one did.
  void wake_all() {
    if (commands_.size() < 2 || record_.steps_per_turn == 1) return;
    for (const std::size_t i : order_of(1)) {
      if (go_on_) untimed_lap(i, record_.steps_per_turn);
    }
  }

  /// In orders of one step, as a turn has them.
  std::vector<double> untimed_lap(std::size_t i, std::int64_t steps) {
    current_ = i;
    std::vector<double> seconds;
    for (std::int64_t step = 0; step < steps && go_on_; ++step) {
      seconds.push_back(untimed(i, 1, {.round = 1, .place = 1}).front());
    }
    std::this_thread::sleep_for(kRest);
    falls_asleep(i);
    return seconds;
  }

  /// A step that is cut up leaves its memory where it is while the others step.
  bool can_be_sliced() const {
    if (commands_.size() < 2 || record_.steps_per_turn > 1 || record_.settle > 0) return false;
    double bytes = 0;
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      const SideHello& hello = record_.sides[i].hello;
      if (!hello.slices || hello.settle > 0) return false;
      bytes += processes_[i]->memory_to_come();
    }
    return bytes < memory_left().value_or(0);
  }

  void run_round(std::int64_t round) {
    if (record_.slice_seconds > 0) return run_sliced_round(round);
    std::int64_t place = 0;
    for (const std::size_t i : order_of(round)) {
      take_turn(i, round, ++place);
      if (!go_on_) return;
    }
  }

  void take_turn(std::size_t i, std::int64_t round, std::int64_t place) {
    current_ = i;
    SideTurns& side = record_.sides[i];
    wakes_up(i);
    const std::int64_t settle =
        std::max(side.hello.settle,
                 settling_steps(record_.settle, record_.steps_per_turn, record_.cluster, round));
    if (settle > 0) untimed(i, settle, {round, place, {}});
    if (!go_on_) return;
    keep(i, {round, place, processes_[i]->step(record_.steps_per_turn)});
  }

  void keep(std::size_t i, LockstepTurn turn) {
    SideTurns& side = record_.sides[i];
    side.turns.push_back(std::move(turn));
    std::this_thread::sleep_for(kRest);
    falls_asleep(i);
    if (turn_done_) turn_done_(i, side.turns.back());
    go_on_ = !side.turns.back().timed.answer.diverged();
  }

  /// All sides step at the same time: while one works the others are stopped. Each works for as
  /// long as the others before it has its next slice.
  void run_sliced_round(std::int64_t round) {
    std::seed_seq seed{record_.cluster, round};
    std::mt19937 random(seed);
    // Of many lengths, so that no pulse of the machine keeps step with them.
    std::uniform_real_distribution<double> share(0.75, 1.25);
    const std::vector<std::size_t> order = order_of(round);
    std::vector<std::size_t> at_work = order;
    for (std::int64_t pass = 0; !at_work.empty(); ++pass) {
      const double seconds = share(random) * plan_.slice_seconds;
      for (std::size_t place = 0; place < order.size(); ++place) {
        const std::size_t i = order[place];
        const auto own = std::find(at_work.begin(), at_work.end(), i);
        if (own == at_work.end()) continue;
        std::optional<TimedAnswer> timed = take_slice(i, pass == 0, seconds, at_work.size() == 1);
        if (!timed) continue;
        at_work.erase(own);
        keep(i, {round, static_cast<std::int64_t>(place + 1), std::move(*timed)});
        if (!go_on_) return;
      }
    }
  }

  /// Nothing: it stands still, in the midst of its step.
  std::optional<TimedAnswer> take_slice(std::size_t i, bool first, double seconds, bool last) {
    current_ = i;
    ResidentSide& side = *processes_[i];
    if (first) {
      wakes_up(i);
      side.begin(1);
    } else {
      side.resume();
    }
    return last ? side.answer() : side.work_for(seconds);
  }

  /// Seconds of steps that are kept nowhere. Where a loss is not finite they are kept as a turn at
  /// `place` all the same, so that everybody sees it.
  std::vector<double> untimed(std::size_t i, std::int64_t steps, LockstepTurn place) {
    place.timed = processes_[i]->step(steps);
    std::vector<double> seconds = place.timed.answer.seconds;
    if (place.timed.answer.diverged()) {
      go_on_ = false;
      record_.sides[i].turns.push_back(std::move(place));
    }
    return seconds;
  }

  void end_side(std::size_t i) {
    current_ = i;
    if (plan_.evaluate && commands_[i].evaluated)
      record_.sides[i].quality = processes_[i]->evaluate();
    record_.sides[i].exit_code = processes_[i]->finish();
  }

  void falls_asleep(std::size_t i) { slept_[i] = {processes_[i]->cpu_seconds(), Steady::now()}; }

  void wakes_up(std::size_t i) {
    SideTurns& side = record_.sides[i];
    side.idle_cpu_seconds += processes_[i]->cpu_seconds() - slept_[i].cpu_seconds;
    side.idle_seconds += seconds_since(slept_[i].since);
  }

  struct Sleep {
    double cpu_seconds = 0;
    Steady::time_point since{};
  };

  const std::vector<SideCommand>& commands_;
  const LockstepPlan& plan_;
  const TurnDone& turn_done_;
  ClusterRecord record_{};
  std::vector<std::unique_ptr<ResidentSide>> processes_{};
  std::vector<Sleep> slept_{};
  std::size_t current_ = 0;
  bool go_on_ = true;
};

}  // namespace

ClusterRecord run_cluster(const std::vector<SideCommand>& sides, const LockstepPlan& plan,
                          std::int64_t cluster, const TurnDone& turn_done) {
  return Cluster(sides, plan, cluster, turn_done).run();
}

}  // namespace harness
