// Series of runs side by side: what differs between them, and how far their numbers lie apart.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/compare/side.hpp"

namespace harness {

/// One quantity of all sides.
struct ComparedRow {
  std::string name{};
  std::string unit{};
  /// For each side the median over its hours (of an hour: the median of its runs, of a run: that of
  /// its samples), with its interval; empty where a side does not have it.
  std::vector<std::optional<Interval>> values{};
  /// Against the first side, by unpaired_shift() over the hours: a factor where `is_factor`, else a
  /// difference. Empty for the first side, and where there is nothing to compare; without bounds
  /// where a side has fewer than kFewestHours.
  std::vector<std::optional<Interval>> changes{};
  bool is_factor = true;
  /// Why a side has no value, or too few of them for a verdict, by its index.
  std::map<std::size_t, std::string> notes{};
};

struct Comparison {
  std::vector<std::string> names{};
  std::vector<std::size_t> runs{};
  /// For each side its hours: runs of one series, and of series that began within an hour of each
  /// other, saw one state of the machine and count once.
  std::vector<std::size_t> hours{};
  /// What makes the verdicts doubtful: sides that were not measured in turn.
  std::vector<std::string> notes{};
  /// Why there is no verdict on performance, or on convergence, and what it takes; or empty.
  std::string missing{};
  /// For each side how many runs are invalid, missed their target, are mistrusted or were resumed;
  /// empty: none.
  std::vector<std::string> doubts{};
  std::string workload{};
  /// What is not the same on all sides, name -> the value of each.
  std::map<std::string, std::vector<std::string>> differences{};
  std::vector<ComparedRow> rows{};
  /// Convergence, of runs that train to a target: epochs and final quality, which no hour changes,
  /// by seed; time by hour.
  std::vector<ComparedRow> convergence{};
};

/// Throws Error, with the exit code for "not comparable", for sides of other workloads or rules, a
/// side whose runs do not belong together, runs that are not complete and a run that is there
/// twice. `target`: quality to count the epochs to, by each run's curve; the runs' own when empty.
Comparison compare_sides(const std::vector<Side>& sides, std::optional<double> target);

}  // namespace harness
