#include "harness/check/recheck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/check/judged_kind.hpp"
#include "harness/check/judgement.hpp"
#include "harness/check/quality_checks.hpp"
#include "harness/plan/division.hpp"
#include "harness/result/json_clean.hpp"
#include "harness/workload/kernel_set.hpp"
#include "harness/workload/registry.hpp"
#include "harness/workload/rules_file.hpp"

namespace harness {
namespace {

using Violations = std::vector<Violation>;
using nlohmann::json;

void add(Violations& all, Violations more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

// The doctor's wording and limits may change from commit to commit, the number of things that were
// wrong with a machine hardly does.
Violations check_mistrust(const ResultCommon& result) {
  std::vector<std::string> reasons;
  for (const Finding& finding : machine_findings(result)) {
    if (finding.mistrust) reasons.push_back(text_for_result(finding.what));
  }
  const std::vector<std::string>& listed = result.status.mistrust_reasons;
  const char* path = "/status/mistrust_reasons";
  Violations violations;
  if (result.identity.git_commit != version().git_commit) {
    if (listed.size() < reasons.size()) {
      violations.push_back({"mistrust", path, join(reasons, "; "), join(listed, "; "), ""});
    }
    return violations;
  }
  for (const std::string& reason : reasons) {
    if (std::find(listed.begin(), listed.end(), reason) != listed.end()) continue;
    violations.push_back({"mistrust", path, "'" + reason + "'", "not listed", ""});
  }
  return violations;
}

const std::vector<OperatorInfo>* operators_of(const std::string& workload) {
  for (const WorkloadEntry* entry : WorkloadRegistry::instance().list()) {
    if (entry->info.name == workload) return &entry->info.operators;
  }
  return nullptr;
}

Violations check_all_kernels(const std::vector<PlacedKernels>& sets,
                             const std::vector<OperatorInfo>& operators) {
  Violations violations;
  for (const PlacedKernels& set : sets) {
    add(violations, check_kernels(*set.kernels, operators, set.path));
  }
  return violations;
}

/// What rules/checks.json derives again, whatever the version of the workload's rules.
Violations check_derived(const JudgedKind& kind, const ResultCommon& result, const json& document,
                         std::vector<std::string>& notes) {
  const CheckRules& rules = load_check_rules(home_folder());
  Violations violations;
  for (const PlacedQuality& one : kind.qualities(result)) {
    const Quality& quality = one.report->quality;
    const std::string& workload = result.rules.workload;
    const QualityChecks* checks = rules.of(workload, quality.metric, one.precision);
    if (checks != nullptr) {
      add(violations, check_checks(*checks, quality, one.precision, document, one.path));
    } else if (rules.has(workload, quality.metric)) {
      notes.push_back(fmt::format("its checks are not judged: rules/checks.json has no {} in '{}'",
                                  quality.metric, printable(one.precision, 32)));
    }
  }
  add(violations, kind.broken_checks(rules, result, document));
  return violations;
}

// The rules as they are now. A result made under another version of them cannot be judged by these;
// one that names this version but another text was made under changed rules.
Violations check_by_rules(const JudgedKind& kind, const ResultCommon& result, const json& document,
                          std::vector<std::string>& notes) {
  const bool valid = result.status.state == RunState::kValid;
  // --rules and --task name a file that may be anywhere; a file of ours has its own place.
  if (result.rules.file != rules_file_of(result.rules.workload)) {
    notes.push_back(
        fmt::format("not judged by its rules: it was made under {} (SHA-256 {}), a file given "
                    "with --rules or --task",
                    printable(result.rules.file, 60), result.rules.sha256.substr(0, 8)));
    if (!result.rules.mlperf_equivalent) return {};
    return {{"mlperf-equivalent", "/workload/mlperf_equivalent", "false", "true", ""}};
  }
  Rules rules;
  try {
    rules = kind.rules_of(result);
  } catch (const Error& error) {
    // What says itself that it is invalid, aborted or dry claims to have kept no rule.
    if (valid) throw;
    notes.push_back(std::string("not judged by its rules: ") + error.what());
    return {};
  }
  if (rules.version != result.rules.version) {
    notes.push_back(fmt::format(
        "not judged by its rules: it was made under version {} of {}, here is version {}",
        printable(result.rules.version, 32), rules.file, rules.version));
    return {};
  }
  if (rules.sha256 != result.rules.sha256) {
    if (valid) {
      return {{"rules-file", "/workload/rules_sha256", rules.sha256, printable(result.rules.sha256),
               "the rules of this version have another text here"}};
    }
    notes.push_back("not judged by its rules: they have another text here");
    return {};
  }
  Violations violations;
  if (result.status.state != RunState::kDryRun) {
    violations =
        check_division(rules, result, departures_of(rules, kind.closed(rules, result), document));
  }
  if (valid) add(violations, kind.broken_rules(rules, result, document));
  return violations;
}

}  // namespace

std::vector<Violation> recheck(const ResultKind& kind, const ResultCommon& result,
                               const json& document, std::vector<std::string>& notes) {
  Violations violations = check_mistrust(result);
  const auto* judged = dynamic_cast<const JudgedKind*>(&kind);
  if (judged == nullptr) {
    notes.push_back("not judged by rules: its kind has none");
    return violations;
  }
  const std::vector<PlacedKernels> kernels = judged->kernels(result);
  if (const std::vector<OperatorInfo>* operators = operators_of(result.rules.workload)) {
    add(violations, check_all_kernels(kernels, *operators));
  } else if (!kernels.empty()) {
    notes.push_back(fmt::format("its kernels are not judged: this build has no workload '{}'",
                                printable(result.rules.workload, 64)));
  }
  add(violations, check_by_rules(*judged, result, document, notes));
  // What says itself that it is none claims to hold no quality.
  if (result.status.state == RunState::kValid) {
    add(violations, check_derived(*judged, result, document, notes));
  }
  return violations;
}

}  // namespace harness
