// A training log from anybody, judged by MLPerf's rules.
#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/mlperf/log_check.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace harness {

void fuzz_mllog(std::string_view bytes) {
  static const LogRules rules = load_log_rules(home_folder(), "mlperf-training-5.1.0");
  std::vector<LogLine> lines;
  try {
    lines = parse_log(bytes, rules.prefix, "input");
  } catch (const Error& error) {
    promise_printable(error.what());
    return;
  }
  const LogCheck check = check_log(rules, lines);
  for (const auto* findings : {&check.problems, &check.notes}) {
    for (const LogFinding& finding : *findings) {
      promise(finding.line <= lines.back().line, "a finding behind the end");
      promise_printable(finding.expected);
      promise_printable(finding.actual);
    }
  }
}

}  // namespace harness
