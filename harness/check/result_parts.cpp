#include "harness/check/result_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "harness/base/quality.hpp"
#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/plan/division.hpp"
#include "harness/system/doctor_changes.hpp"

namespace harness {

std::string new_uuid() {
  std::random_device device;
  std::string text;
  for (int i = 0; i < 4; ++i) text += fmt::format("{:08x}", device());
  text[12] = '4';                                               // version 4, random
  text[16] = "89ab"[static_cast<unsigned char>(text[16]) % 4];  // variant 1
  for (const std::size_t dash : {8U, 13U, 18U, 23U}) text.insert(dash, "-");
  return text;
}

Identity make_identity(const SeriesPosition& position,
                       const std::vector<std::string>& command_line) {
  Identity identity;
  identity.uuid = new_uuid();
  identity.series_id = position.series_id;
  identity.run_index = position.index;
  identity.run_count = position.count;
  identity.started_at = utc_now();
  identity.harness_version = version().version;
  identity.git_commit = version().git_commit;
  identity.git_dirty = version().git_dirty;
  identity.command_line = command_line;
  return identity;
}

RulesReference refer_to(const Rules& rules, const std::string& tier,
                        const std::vector<Departure>& departures) {
  return {rules.workload, rules.file, rules.version, rules.sha256, tier, "", departures, false};
}

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
  status.violations.push_back({"completed", "/status/state", "a run that ends by itself", why,
                               "what was measured until then is kept; " + hint});
}

std::vector<Finding> machine_findings(const ResultCommon& result) {
  std::vector<Finding> findings = diagnose(result.system, result.environment_before);
  const std::vector<Finding> during =
      compare_environments(result.environment_before, result.environment_after);
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

}  // namespace harness
