#include "harness/check/judgement.hpp"

#include <algorithm>

#include "harness/base/quality.hpp"
#include "harness/plan/division.hpp"
#include "harness/system/doctor_changes.hpp"

namespace harness {

QualityReport report_quality(const Quality& quality, std::optional<double> target,
                             std::int64_t steps) {
  QualityReport report;
  report.quality = quality;
  report.target = target;
  report.passed = quality_passed(quality, target);
  if (report.passed.value_or(false)) report.reached_at_step = steps;
  return report;
}

void settle_division(RulesReference& reference, const Rules& rules,
                     const std::vector<Constraint>& closed, const nlohmann::json& document,
                     const std::string& asked) {
  add_departures(reference.departures, find_departures(closed, document));
  add_departures(reference.departures, interruptions(document));
  reference.division = reference.departures.empty() && asked != "open" ? "closed" : "open";
  reference.mlperf_equivalent = rules.mlperf_equivalent && reference.division == "closed";
}

void mark_aborted(Status& status, const std::string& why, const std::string& hint) {
  status.state = RunState::kAborted;
  status.violations.push_back({kCompletedRule, "/status/state", "a run that ends by itself", why,
                               "what was measured until then is kept; " + hint});
}

std::vector<Finding> machine_findings(const ResultCommon& result) {
  std::vector<Finding> findings = diagnose(result.system, result.environment_before);
  std::vector<Finding> during =
      compare_environments(result.environment_before, result.environment_after);
  // In lockstep the other sides are such processes, and none of them disturbs this one's turns. The
  // parent counts what its sides wait for a processor.
  if (result.rules.lockstep) {
    std::erase_if(during, [](const Finding& finding) { return finding.id == kOtherProcesses; });
  }
  findings.insert(findings.end(), during.begin(), during.end());
  return findings;
}

void judge_machine(ResultCommon& result) {
  Status& status = result.status;
  const std::vector<Finding> findings = machine_findings(result);
  const std::string left = what_is_left(findings);
  if (!left.empty()) status.recommendations.push_back(left);
  for (const Finding& finding : findings) {
    if (finding.mistrust) {
      status.mistrusted = true;
      status.mistrust_reasons.push_back(finding.what);
    }
    if (finding.severity != Severity::kOk && !finding.how.empty()) {
      status.recommendations.push_back(finding.what + ": " + finding.how);
    }
  }
}

ExitCode exit_code(const Status& status, bool strict) {
  switch (status.state) {
    case RunState::kAborted:
      return was_stopped(status) ? ExitCode::kAborted : ExitCode::kInvalid;
    case RunState::kInvalid:
      return ExitCode::kInvalid;
    case RunState::kValid:
    case RunState::kDryRun:
      return strict && status.mistrusted ? ExitCode::kInvalid : ExitCode::kOk;
  }
  return ExitCode::kInvalid;
}

}  // namespace harness
