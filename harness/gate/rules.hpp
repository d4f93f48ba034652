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
  /// A metric of the result, by the median of its samples; or memory.peak, quality.value (what the
  /// last evaluation gave), time.wall (of a command) or time.unit (what the scenario times).
  std::string tag{};
  double margin = 0.015;
  GateGroup group = GateGroup::kPerformance;
  bool when_present = false;  ///< no failure where neither side has it
};

struct GateRules {
  std::string version{};
  GateOptions options{};
  std::vector<GatedMetric> metrics{};
  GatedMetric command_metric{};  ///< wall time
  std::map<std::string, std::vector<GatedMetric>> workloads{};

  /// Those of runs like this one. Throws Error for a scenario that there is none of.
  std::vector<GatedMetric> of(const Result& run) const;
};

/// Reads rules/gate.json below `home` and checks it against rules/gate.schema.json. Throws Error.
GateRules load_gate_rules(const std::filesystem::path& home);

}  // namespace harness
