#include "harness/check/recheck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/check/judgement.hpp"
#include "harness/check/quality_checks.hpp"
#include "harness/plan/division.hpp"
#include "harness/result/json_clean.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/workload/ablation_rules.hpp"
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

Violations check_all_kernels(const Result& result, const std::vector<OperatorInfo>& operators) {
  return check_kernels(result.kernels, operators, "/kernels");
}

Violations check_all_kernels(const Ablation& result, const std::vector<OperatorInfo>& operators) {
  Violations violations;
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    if (result.variants[i].peer) continue;
    add(violations, check_kernels(result.variants[i].settings.kernels, operators,
                                  fmt::format("/variants/{}/settings/kernels", i)));
  }
  return violations;
}

std::vector<Constraint> closed_of(const Rules& rules, const Result& /*kind*/) {
  return rules.closed;
}

std::vector<Constraint> closed_of(const Rules& rules, const Ablation& ablation) {
  return shared_constraints(rules.closed, ablation);
}

Violations check_quality(const CheckRules& rules, const ResultCommon& result,
                         const std::optional<QualityReport>& report, const std::string& precision,
                         const json& document, const std::string& path) {
  if (!report) return {};
  const QualityChecks* checks = rules.of(result.rules.workload, report->quality.metric);
  if (checks == nullptr) return {};
  return check_checks(*checks, report->quality, precision, document, path);
}

/// What rules/checks.json derives again, whatever the version of the workload's rules.
Violations check_derived(const Result& result, const json& document) {
  const CheckRules& rules = load_check_rules(home_folder());
  Violations violations =
      check_quality(rules, result, result.quality, result.settings.effective.value("precision", ""),
                    document, "/quality");
  add(violations, check_samples_per_step(rules, result, document));
  return violations;
}

Violations check_derived(const Ablation& result, const json& document) {
  const CheckRules& rules = load_check_rules(home_folder());
  Violations violations;
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    const Variant& variant = result.variants[i];
    add(violations, check_quality(rules, result, variant.quality, variant.settings.of("precision"),
                                  document, fmt::format("/variants/{}/quality", i)));
  }
  return violations;
}

Violations check_rules_of(const Rules& rules, const Result& result, const json& document) {
  return check_rules(rules, find_scenario(result.rules.scenario).info(), result, document);
}

Violations check_rules_of(const Rules& rules, const Ablation& result, const json& document) {
  return check_rules(rules, result, document);
}

// The rules as they are now. A result made under another version of them cannot be judged by these;
// one that names this version but another text was made under changed rules.
template <class Kind>
Violations check_by_rules(const Kind& result, const json& document,
                          std::vector<std::string>& notes) {
  const bool valid = result.status.state == RunState::kValid;
  // --rules names a file that may be anywhere; a file of ours has its own place.
  if (result.rules.file != rules_file_of(result.rules.workload)) {
    notes.push_back(
        fmt::format("not judged by its rules: it was made under {} (SHA-256 {}), a file given "
                    "with --rules",
                    printable(result.rules.file, 60), result.rules.sha256.substr(0, 8)));
    if (!result.rules.mlperf_equivalent) return {};
    return {{"mlperf-equivalent", "/workload/mlperf_equivalent", "false", "true", ""}};
  }
  Rules rules;
  try {
    rules = load_rules(home_folder(), result.rules.workload, scenario_infos())
                .in_tier(result.rules.tier);
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
        check_division(rules, result, departures_of(rules, closed_of(rules, result), document));
  }
  // A profile is never as long as the rules ask of a measurement.
  if constexpr (!std::is_same_v<Kind, Profile>) {
    if (valid) add(violations, check_rules_of(rules, result, document));
  }
  return violations;
}

template <class Kind>
Violations recheck_kind(const Kind& result, const json& document, std::vector<std::string>& notes) {
  Violations violations = check_mistrust(result);
  if (const std::vector<OperatorInfo>* operators = operators_of(result.rules.workload)) {
    add(violations, check_all_kernels(result, *operators));
  } else {
    notes.push_back(fmt::format("its kernels are not judged: this build has no workload '{}'",
                                printable(result.rules.workload, 64)));
  }
  add(violations, check_by_rules(result, document, notes));
  // What says itself that it is none claims to hold no quality.
  if (result.status.state == RunState::kValid) add(violations, check_derived(result, document));
  return violations;
}

}  // namespace

std::vector<Violation> recheck(const Result& result, const json& document,
                               std::vector<std::string>& notes) {
  return recheck_kind(result, document, notes);
}

std::vector<Violation> recheck(const Profile& result, const json& document,
                               std::vector<std::string>& notes) {
  return recheck_kind(result, document, notes);
}

std::vector<Violation> recheck(const Ablation& result, const json& document,
                               std::vector<std::string>& notes) {
  return recheck_kind(result, document, notes);
}

}  // namespace harness
