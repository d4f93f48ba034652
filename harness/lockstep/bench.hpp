// Two or more commands in balanced turns: whole, each timed from its start to its end, or as
// resident sides in lockstep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/lockstep/cluster.hpp"

namespace harness {

struct BenchSide {
  std::string name{};
  std::string command{};  ///< for /bin/sh
};

struct BenchPlan {
  std::vector<BenchSide> sides{};          ///< two at least, each with a name of its own
  std::filesystem::path out{};             ///< a folder: bench.jsonl and the logs
  std::string prepare{};                   ///< a command before each start, untimed; empty: none
  std::optional<double> budget_seconds{};  ///< nothing begins that would likely end behind it
  // Of whole commands.
  std::int64_t warmup = 0;  ///< untimed runs of each before the first round
  std::int64_t rounds = 10;
  bool any_exit_code = false;  ///< a command may fail
  // Of resident sides.
  bool lockstep = false;
  std::int64_t clusters = 6;
  LockstepPlan cluster{.rounds = 10, .steps_per_turn = std::nullopt, .settle = std::nullopt};
};

/// What one side took in each independent unit: a run of the command, or a cluster of steps.
struct BenchTimes {
  std::string name{};
  std::string command{};
  std::string says{};             ///< a resident side's own name
  std::string unit = "run";       ///< what was timed: run, step, query
  std::vector<double> seconds{};  ///< of a run; the median step of a cluster
  std::vector<double> ratios{};   ///< how many times as fast as the first side, paired
};

struct BenchRecord {
  std::vector<BenchTimes> sides{};
  std::vector<std::string> notes{};  ///< what makes times doubtful
  bool stopped = false;   ///< asked to stop, the budget was spent, or a failure, before the end
  std::string failure{};  ///< that ended it
};

/// One line of the table, told from a side's times.
struct BenchRow {
  std::size_t n = 0;
  double median = 0;  ///< seconds
  double min = 0;
  double max = 0;
  Interval ratio{};  ///< how many times as fast as the first side; 95 %, where n allows it
  /// Further runs or clusters after which the interval of the ratio would likely leave 1 out; empty
  /// where it does already, or where nobody can tell.
  std::optional<std::int64_t> more{};
};

/// Runs them. A failing command, or side, throws Error; what was measured before stays in
/// bench.jsonl. Asked to stop, it returns what there is of whole rounds, and throws Interrupted
/// where that is nothing. `say` gets a line for people after each round or cluster.
BenchRecord run_bench(const BenchPlan& plan, const std::function<void(const std::string&)>& say);

/// Precondition: at least one time.
BenchRow row_of(const BenchTimes& times);

}  // namespace harness
