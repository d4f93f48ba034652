// Judges a log by rules.
#pragma once

#include <string>
#include <vector>

#include "harness/mlperf/log_judge.hpp"
#include "harness/mlperf/log_reader.hpp"
#include "harness/mlperf/log_rules.hpp"

namespace harness {

struct LogCheck {
  std::string ruleset{};
  std::vector<std::string> groups{};  ///< of rules that held
  std::vector<LogFinding> problems{};
  std::vector<LogFinding> notes{};

  bool passed() const { return problems.empty(); }
};

/// In the order of the rules, each rule's findings by line.
LogCheck check_log(const LogRules& rules, const std::vector<LogLine>& lines);

}  // namespace harness
