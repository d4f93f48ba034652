#include "harness/lockstep/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/line_file.hpp"
#include "harness/base/steady.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/cluster_json.hpp"
#include "harness/lockstep/doubts.hpp"
#include "harness/lockstep/order.hpp"
#include "harness/lockstep/shell_command.hpp"
#include "harness/stats/stats.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Bench {
 public:
  Bench(const BenchPlan& plan, const std::function<void(const std::string&)>& say)
      : plan_(plan), say_(say), lines_(make_file(plan)) {
    json sides = json::array();
    for (const BenchSide& side : plan.sides) {
      record_.sides.push_back({.name = side.name, .command = side.command});
      sides.push_back({{"name", side.name}, {"command", side.command}});
    }
    lines_.append(line_of(
        {{"kind", "bench"}, {"lockstep", plan.lockstep}, {"at", utc_now()}, {"sides", sides}}));
  }

  BenchRecord run() {
    try {
      if (!plan_.lockstep) warm_up();
      const std::int64_t total = plan_.lockstep ? plan_.clusters : plan_.rounds;
      for (std::int64_t unit = 1; unit <= total; ++unit) {
        plan_.lockstep ? run_one_cluster(unit) : run_round(unit);
        tell(unit, total);
        if (unit < total && !time_for_another(unit)) {
          record_.stopped = true;
          break;
        }
      }
    } catch (const Interrupted&) {
      if (record_.sides.front().seconds.empty()) throw;
      record_.stopped = true;
    } catch (const Error& error) {
      if (record_.sides.front().seconds.empty()) throw;
      record_.stopped = true;
      record_.failure = error.what();
    }
    const std::string trouble = waiting_.trouble();
    if (!trouble.empty()) record_.notes.push_back(trouble);
    return std::move(record_);
  }

 private:
  static LineFile make_file(const BenchPlan& plan) {
    make_writable_folder(plan.out);
    return {plan.out / "bench.jsonl", "a time"};
  }

  fs::path new_log(const std::string& name) {
    return plan_.out / fmt::format("{:04}-{}.txt", ++logs_, name);
  }

  void prepare() {
    if (plan_.prepare.empty()) return;
    const fs::path log = new_log("prepare");
    const ShellRun run = run_shell_command(plan_.prepare, {}, log);
    cool_down(0);
    if (run.exit_code != 0) fail("--prepare", run.exit_code, log);
    fs::remove(log);
  }

  [[noreturn]] static void fail(const std::string& what, int code, const fs::path& log) {
    throw Error(what, fmt::format("the command ended with exit code {}: {}", code, last_line(log)),
                "its output is in " + printable(log.string()));
  }

  /// Seconds of one run. The log of one that did as it should is not kept.
  double run_command(std::size_t i) {
    prepare();
    cool_down(0);
    const fs::path log = new_log(plan_.sides[i].name);
    const ShellRun run = run_shell_command(plan_.sides[i].command, {environment_padding()}, log);
    cool_down(0);
    if (run.exit_code != 0 && !plan_.any_exit_code) {
      fail(printable(plan_.sides[i].name), run.exit_code, log);
    }
    fs::remove(log);
    return run.seconds;
  }

  void warm_up() {
    for (std::int64_t round = 1; round <= plan_.warmup; ++round) {
      for (const std::size_t i : balanced_order(round, plan_.sides.size())) run_command(i);
    }
    start_ = Steady::now();
  }

  void run_round(std::int64_t round) {
    std::vector<double> seconds(plan_.sides.size());
    std::int64_t place = 0;
    for (const std::size_t i : balanced_order(round, plan_.sides.size())) {
      seconds[i] = run_command(i);
      lines_.append(line_of({{"side", plan_.sides[i].name},
                             {"round", round},
                             {"place", ++place},
                             {"seconds", seconds[i]}}));
    }
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      record_.sides[i].seconds.push_back(seconds[i]);
      record_.sides[i].ratios.push_back(seconds.front() / seconds[i]);
    }
  }

  void run_one_cluster(std::int64_t cluster) {
    prepare();
    std::vector<SideCommand> commands;
    for (const BenchSide& side : plan_.sides) {
      commands.push_back({side.name, side.command, {}, new_log(side.name)});
    }
    const ClusterRecord found = run_cluster(commands, lockstep_, cluster);
    lockstep_.steps_per_turn = found.steps_per_turn;
    lockstep_.settle = found.settle;
    lines_.append(line_of(to_json(found)));
    if (!found.failed.empty()) {
      throw Error(fmt::format("{}, cluster {}", printable(found.failed), cluster), found.failure,
                  "its output is in " + printable(plan_.out.string()));
    }
    take_over(found);
    for (const SideCommand& command : commands) fs::remove(command.log);
  }

  void take_over(const ClusterRecord& found) {
    std::vector<std::vector<double>> rounds;
    for (const SideTurns& side : found.sides) {
      std::vector<double>& seconds = rounds.emplace_back();
      for (const LockstepTurn& turn : side.turns) {
        seconds.push_back(median(turn.timed.answer.seconds));
        if (!turn.timed.answer.diverged()) continue;
        throw Error(fmt::format("{}, cluster {}", printable(side.name), found.cluster),
                    "a loss is not finite", "times of a model that went wrong say nothing");
      }
      if (const std::string why = bad_end(side); !why.empty()) {
        throw Error(fmt::format("{}, cluster {}", printable(side.name), found.cluster), why,
                    "its output is in " + printable(plan_.out.string()));
      }
      waiting_.add(side);
      note(side, "clock", clock_trouble(side));
      note(side, "sleep", sleep_trouble(side));
    }
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      BenchTimes& times = record_.sides[i];
      times.says = found.sides[i].hello.name;
      times.unit = found.sides[i].hello.unit;
      times.seconds.push_back(median(rounds[i]));
      // Round by round: what slowed both falls out.
      times.ratios.push_back(paired_ratio(rounds.front(), rounds[i]));
    }
  }

  void note(const SideTurns& side, const char* kind, const std::string& trouble) {
    if (trouble.empty() || !noted_.insert({side.name, kind}).second) return;
    record_.notes.push_back(printable(side.name) + " " + trouble);
  }

  double elapsed() const { return seconds_since(start_); }

  bool time_for_another(std::int64_t done) const {
    if (!plan_.budget_seconds) return true;
    const double each = elapsed() / static_cast<double>(done);
    return elapsed() + each <= *plan_.budget_seconds;
  }

  void tell(std::int64_t done, std::int64_t total) const {
    const BenchTimes& last = record_.sides.back();
    const double left = elapsed() / static_cast<double>(done) * static_cast<double>(total - done);
    say_(fmt::format("{} {} of {}: {} takes {}, {:.4f} times as fast as {} so far; {} left",
                     plan_.lockstep ? "cluster" : "round", done, total, printable(last.name, 40),
                     format_quantity(median(last.seconds), "s"), row_of(last).ratio.center,
                     printable(record_.sides.front().name, 40), format_time_left(left)));
  }

  const BenchPlan& plan_;
  LockstepPlan lockstep_ = plan_.cluster;
  Waiting waiting_{};
  const std::function<void(const std::string&)>& say_;
  LineFile lines_;
  BenchRecord record_{};
  std::set<std::pair<std::string, std::string>> noted_{};  ///< side and kind, once each
  int logs_ = 0;
  Steady::time_point start_ = Steady::now();
};

/// The interval narrows with the root of the number of values.
std::optional<std::int64_t> more_needed(const Interval& ratio, std::size_t n) {
  if (!ratio.low || !ratio.high || *ratio.low > 1 || *ratio.high < 1) return std::nullopt;
  const double shift = std::abs(std::log(ratio.center));
  const double half = (std::log(*ratio.high) - std::log(*ratio.low)) / 2;
  const double wanted = static_cast<double>(n) * (half / shift) * (half / shift);
  constexpr double kMost = 1e4;
  if (!(wanted < kMost)) return std::nullopt;
  return std::max<std::int64_t>(1, std::llround(std::ceil(wanted)) - static_cast<std::int64_t>(n));
}

}  // namespace

BenchRecord run_bench(const BenchPlan& plan, const std::function<void(const std::string&)>& say) {
  return Bench(plan, say).run();
}

BenchRow row_of(const BenchTimes& times) {
  BenchRow row;
  row.n = times.seconds.size();
  row.median = median(times.seconds);
  row.min = *std::min_element(times.seconds.begin(), times.seconds.end());
  row.max = *std::max_element(times.seconds.begin(), times.seconds.end());
  row.ratio = ratio_interval(times.ratios);
  row.more = more_needed(row.ratio, row.n);
  return row;
}

}  // namespace harness
