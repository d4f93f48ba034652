// What a gate found, and what follows from it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/metric.hpp"
#include "harness/gate/decision.hpp"

namespace harness {

enum class GateGroup { kPerformance, kMemory, kQuality };

/// Pairs in which one side was worse by more than kSlowMargins margins.
struct SlowStarts {
  std::size_t candidate = 0;
  std::size_t baseline = 0;
  std::optional<double> excess_high{};  ///< upper bound of the share of the first less the second
};

/// What a look of the plan found of a metric.
struct RowLook {
  std::size_t n = 0;  ///< pairs, or clusters, up to it
  Interval improvement{};
  Verdict verdict = Verdict::kInconclusive;
};

struct GateRow {
  std::string tag{};
  std::string unit{};
  GateGroup group = GateGroup::kPerformance;
  Direction direction = Direction::kLower;
  double margin = 0;
  std::optional<double> baseline{};  ///< median of what is compared
  std::optional<double> candidate{};
  std::size_t n = 0;  ///< pairs, or the fewer hours of the two sides, that the interval rests on
  std::string counted{};                  ///< what `n` counts; empty: the report's unit
  std::optional<Interval> improvement{};  ///< above 1: the candidate is better; for alarms
  std::optional<Interval> same{};         ///< the narrower one that "same" rests on; of pairs only
  std::optional<SlowStarts> slow{};       ///< of pairs only
  Verdict verdict = Verdict::kInconclusive;
  bool alarm_only = false;  ///< inconclusive means no alarm, and holds nothing up
  bool exact = false;       ///< the same in every run of one program, compared as it is
  /// Of each pair, or cluster, in their order, all finite and above 0; empty where nothing is
  /// paired.
  std::vector<double> improvements{};
  std::vector<RowLook> looks{};  ///< those taken until this row was clear
  std::string note{};            ///< why it is inconclusive, or what else is to be said
  std::string repeat{};          ///< the command that judges this row again
};

/// A setting or part of the machine in which the sides differ.
struct GateDifference {
  std::string name{};
  std::string baseline{};
  std::string candidate{};
  bool operator==(const GateDifference&) const = default;
};

struct GateReport {
  std::string subject{};   ///< workload, version of its rules and tier; or the tasks; or "command"
  std::string workload{};  ///< its name; empty for several tasks, and for commands
  std::string method{};    ///< how the sides were compared, one sentence
  double alarm_error = 0;  ///< that any metric is called regressed or faster and is not, at most
  double same_error = 0;   ///< that one changed by its margin is called the same, at most
  std::string baseline{};
  std::string candidate{};
  std::string campaign{};  ///< id; empty for unpaired files
  std::string unit{};      ///< what rows have n of: "pair", "cluster"; empty for unpaired files
  std::vector<std::size_t> looks{};  ///< how many of them each look of the plan takes
  std::vector<GateDifference> differences{};
  /// What forbids the comparison; nothing was judged then.
  std::vector<GateDifference> forbidding{};
  bool rules_accepted = false;  ///< rules alone forbid it, and a person takes the new ones
  std::vector<GateRow> rows{};
  std::string repeat{};  ///< the command that judges all again
  std::vector<std::string> notes{};
};

const char* to_text(Verdict verdict);
const char* to_text(GateGroup group);

/// Whether nothing but the sides' rules, the checks of their quality, or a baseline that could not
/// be asked keep them from being compared, and the candidate has not missed its quality target.
bool rules_alone_forbid(const GateReport& report);
/// "pair", "cluster": what the row has n of; empty for unpaired files.
const std::string& unit_of(const GateRow& row, const GateReport& report);
/// Whether a row waits for a clear verdict: no alarm is one of what only raises alarms.
bool is_open(const GateRow& row);
/// Whether it is open for noise, so that more of the same would tell.
bool more_would_tell(const GateReport& report);
/// "better" where no speed is meant.
std::string verdict_word(const GateRow& row);
/// Of the report: a verdict, or why there is none.
std::string overall_word(const GateReport& report);
/// The row that the verdict of the report is that of; empty where nothing was judged.
std::optional<GateRow> deciding_row(const GateReport& report);
/// What needs attention first: regressed before inconclusive before the others.
std::vector<GateRow> rows_by_weight(const GateReport& report);

/// `inconclusive_passes`: an inconclusive verdict counts as success; sides that are not comparable
/// never do unless the new rules were accepted, nor does a report without rows.
ExitCode exit_code(const GateReport& report, bool inconclusive_passes);

}  // namespace harness
