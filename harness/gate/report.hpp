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

struct GateRow {
  std::string tag{};
  std::string unit{};
  GateGroup group = GateGroup::kPerformance;
  Direction direction = Direction::kLower;
  double margin = 0;
  std::optional<double> baseline{};  ///< median of what is compared
  std::optional<double> candidate{};
  std::size_t n = 0;  ///< pairs, or the fewer series of the two sides, that the interval rests on
  std::optional<Interval> improvement{};  ///< above 1: the candidate is better
  Verdict verdict = Verdict::kInconclusive;
  std::string note{};    ///< why it is inconclusive, or what else is to be said
  std::string repeat{};  ///< the command that judges this row again
};

/// A setting or part of the machine in which the sides differ.
struct GateDifference {
  std::string name{};
  std::string baseline{};
  std::string candidate{};
};

struct GateReport {
  std::string subject{};  ///< workload, version of its rules and tier; or "command"
  std::string method{};   ///< how the sides were compared, one sentence
  std::string baseline{};
  std::string candidate{};
  std::string campaign{};  ///< id; empty for unpaired files
  std::vector<GateDifference> differences{};
  /// What forbids the comparison; nothing was judged then.
  std::vector<GateDifference> forbidding{};
  std::vector<GateRow> rows{};
  std::string repeat{};  ///< the command that judges all again
  std::vector<std::string> notes{};
};

const char* to_text(Verdict verdict);
const char* to_text(GateGroup group);

/// "better" where no speed is meant.
std::string verdict_word(const GateRow& row);
/// Of the report: a verdict, or why there is none.
std::string overall_word(const GateReport& report);
/// What needs attention first: regressed before inconclusive before the others.
std::vector<GateRow> rows_by_weight(const GateReport& report);

/// `inconclusive_passes`: an inconclusive verdict counts as success; sides that are not comparable
/// never do, nor does a report without rows.
ExitCode exit_code(const GateReport& report, bool inconclusive_passes);

}  // namespace harness
