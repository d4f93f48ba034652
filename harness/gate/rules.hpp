// rules/gate.json: which metrics the gate judges, and by which margins.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/gate/decision.hpp"
#include "harness/gate/report.hpp"
#include "harness/result/result.hpp"

namespace harness {

struct GatedMetric {
  /// A metric of the result, by the median of its samples; or LoadGen's figure (latency.p90,
  /// throughput.offline, ...), memory.peak, quality.value (what the last evaluation gave),
  /// time.wall (of a command) or time.unit (what the scenario times).
  std::string tag{};
  double margin = 0.015;
  GateGroup group = GateGroup::kPerformance;
  bool when_present = false;  ///< no failure where neither side has it
  bool exact = false;         ///< the same in every run of one program: ClusterMetric::exact
  bool alarm_only = false;    ///< no verdict waits for it: ClusterMetric::alarm_only
};

/// Of sides in lockstep.
struct LockstepRules {
  /// time.unit, time.total (all timed steps together), time.start (until a side is ready), and what
  /// else stands in the results.
  std::vector<GatedMetric> metrics{};
  double budget_minutes = 10;
  std::map<std::string, double> budgets{};  ///< of workloads, in its place
  /// The candidate against an anchor, with wider margins: alarms alone.
  std::vector<GatedMetric> anchor_metrics{};
  double anchor_budget_minutes = 15;  ///< of campaigns with three sides
  std::map<std::string, double> anchor_budgets{};
  /// Losses of the first step may differ by this share where settings or programs do.
  double loss_tolerance = 0.01;
};

/// Of whole trainings to a target, paired by seed.
struct ConvergenceRules {
  double epochs_margin = 0.15;  ///< shares
  double seconds_margin = 0.15;
  std::size_t fewest_seeds = 6;
  std::size_t most_seeds = 12;
  double budget_minutes = 60;
  std::map<std::string, double> budgets{};  ///< of workloads, in its place
};

/// Of two suites.
struct SuiteGateRules {
  double budget_minutes = 240;   ///< of all, where nobody gives another
  double lockstep_share = 0.25;  ///< of it, at most, for the steps of all tasks in lockstep
};

struct GateRules {
  std::string version{};
  std::string sha256{};  ///< of the file
  GateOptions options{};
  std::vector<GatedMetric> metrics{};
  GatedMetric command_metric{};                                 ///< wall time
  std::map<std::string, std::vector<GatedMetric>> scenarios{};  ///< in place of `metrics`
  std::map<std::string, std::vector<GatedMetric>> workloads{};  ///< in place of both
  LockstepRules lockstep{};
  ConvergenceRules convergence{};
  SuiteGateRules suites{};
  bool allow_debug = false;  ///< by the command line: builds that are slow on purpose are judged

  /// Those of runs like this one. Throws Error for a scenario that there is none of.
  std::vector<GatedMetric> of(const Result& run) const;
};

/// Reads rules/gate.json below `home` and checks it against rules/gate.schema.json. Throws Error.
GateRules load_gate_rules(const std::filesystem::path& home);

}  // namespace harness
