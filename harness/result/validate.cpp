#include "harness/result/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "harness/result/ablation_consistency.hpp"
#include "harness/result/ablation_json.hpp"
#include "harness/result/consistency.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/profile_consistency.hpp"
#include "harness/result/profile_json.hpp"
#include "harness/result/result_json.hpp"
#include "harness/result/version_promises.hpp"

namespace harness {
namespace {

using nlohmann::json;

// Kinds whose schema is in results/schema/, with the version of it that we write.
constexpr std::array kKinds = {std::pair{"run", kResultSchemaVersion},
                               std::pair{"ablation", kAblationSchemaVersion},
                               std::pair{"profile", kProfileSchemaVersion}};

const auto* find_kind(const std::string& kind) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(),
                                   [&](const auto& known) { return kind == known.first; });
  return found == kKinds.end() ? nullptr : found;
}

void add(ValidationReport& report, ExitCode code, std::vector<SchemaProblem> problems) {
  if (problems.empty()) return;
  // A file that cannot be read goes before one that breaks a rule.
  if (report.problems_code != ExitCode::kUsage) report.problems_code = code;
  for (SchemaProblem& problem : problems) {
    problem.path = printable(problem.path);
    problem.reason = printable(problem.reason, 400);
    report.problems.push_back(std::move(problem));
  }
}

std::vector<SchemaProblem> kind_problems(const json& document) {
  if (!document.is_object()) return {{"", "not an object, so not a result file"}};
  if (!document.contains("kind")) return {{"/kind", "missing, so this is not a result file"}};
  const std::string kind = text_member(document, "kind");
  if (find_kind(kind) != nullptr) return {};
  std::vector<std::string> known;
  for (const auto& [name, ignored] : kKinds) known.emplace_back(name);
  return {{"/kind", fmt::format("'{}' is unknown to this version; known: {}", printable(kind, 40),
                                join(known, ", "))}};
}

// Same major version, and a minor one we know: a newer file may hold what we would overlook.
std::vector<SchemaProblem> version_problems(const json& document) {
  const std::string version = text_member(document, "schema_version");
  const std::vector<std::string> theirs = split(version, '.');
  const char* readable = find_kind(text_member(document, "kind"))->second;
  const std::vector<std::string> ours = split(readable, '.');
  const auto number = [](const std::vector<std::string>& parts, std::size_t i) {
    return i < parts.size() ? parse_integer(parts[i]).value_or(-1) : -1;
  };
  if (theirs.size() != 3 || number(theirs, 0) < 0 || number(theirs, 1) < 0) {
    return {{"/schema_version", "missing or not of the form 1.0.0"}};
  }
  if (number(theirs, 0) == number(ours, 0) && number(theirs, 1) <= number(ours, 1)) return {};
  const bool newer = number(theirs, 0) >= number(ours, 0);
  return {{"/schema_version",
           fmt::format("{}, but this program reads up to {}: {}", printable(version, 40), readable,
                       newer ? "use a newer harness" : "use the harness that wrote it")}};
}

std::vector<SchemaProblem> digest_problems(const json& document) {
  const std::string stored = text_member(document, "digest");
  if (stored.empty()) return {{"/digest", "missing, so damage could not be seen"}};
  if (stored == digest_of(document)) return {};
  return {{"/digest", "does not fit the content: the file was damaged or edited"}};
}

template <class Kind, class Check>
std::vector<SchemaProblem> rules_problems(const Check& check, const Kind& result,
                                          const json& document) {
  if (!check) return {};
  std::vector<Violation> found;
  try {
    found = check(result, document);
  } catch (const Error& error) {
    return {{"/workload/rules_file", std::string("cannot be checked: ") + error.what()}};
  }
  std::vector<SchemaProblem> problems;
  for (const Violation& violation : found) {
    const auto& listed = result.status.violations;
    // A result that owns up to a violation is no less sound for it.
    if (std::any_of(listed.begin(), listed.end(), [&](const Violation& own) {
          return own.rule == violation.rule && own.path == violation.path;
        })) {
      continue;
    }
    problems.push_back(
        {violation.path, fmt::format("breaks rule {}: expected {}, is {}", violation.rule,
                                     violation.expected, violation.actual)});
  }
  return problems;
}

void check_document(const json& document, const RulesCheck& rules_check, ValidationReport& report) {
  add(report, ExitCode::kInvalid, kind_problems(document));
  if (!report.problems.empty()) return;
  const std::vector<SchemaProblem> version = version_problems(document);
  add(report, ExitCode::kInvalid, version);
  // The canonical form needs no schema, so damage shows in files of any version.
  add(report, ExitCode::kUsage, digest_problems(document));
  if (!version.empty()) return;
  const std::vector<SchemaProblem> form =
      validate_schema(document, result_schema_path(text_member(document, "kind")));
  add(report, ExitCode::kInvalid, form);
  if (!form.empty()) return;
  add(report, ExitCode::kInvalid, broken_promises(document));
  const auto check = [&](const auto& result, const auto& rules) {
    add(report, ExitCode::kInvalid, find_inconsistencies(result, document));
    add(report, ExitCode::kInvalid, rules_problems(rules, result, document));
  };
  const std::string kind = text_member(document, "kind");
  try {
    if (kind == "run") {
      check(report.result.emplace(result_from_json(document)), rules_check.run);
    } else if (kind == "profile") {
      check(report.profile.emplace(profile_from_json(document)), rules_check.profile);
    } else {
      check(report.ablation.emplace(ablation_from_json(document)), rules_check.ablation);
    }
  } catch (const Error& error) {
    // What a schema cannot say. One file's fault is not to end the check of others.
    add(report, ExitCode::kInvalid, {{"", error.why()}});
  }
}

void conclude(ValidationReport& report) {
  report.code = report.problems_code;
  const ResultCommon* common = report.common();
  if (!report.problems.empty() || common == nullptr) {
    report.summary = fmt::format("not valid: {} problem{}", report.problems.size(),
                                 report.problems.size() == 1 ? "" : "s");
    return;
  }
  const Status& status = common->status;
  switch (status.state) {
    case RunState::kValid:
      report.summary = status.mistrusted ? "valid, but mistrusted" : "valid";
      return;
    case RunState::kInvalid:
      report.code = ExitCode::kInvalid;
      report.summary =
          fmt::format("sound file of an invalid run: {} violation{}", status.violations.size(),
                      status.violations.size() == 1 ? "" : "s");
      return;
    case RunState::kAborted:
      report.code = ExitCode::kInvalid;
      report.summary = "sound file of an aborted run";
      return;
    case RunState::kDryRun:
      report.summary = "sound file of a dry run, which is no measurement";
  }
}

}  // namespace

const ResultCommon* ValidationReport::common() const {
  if (result) return &*result;
  if (profile) return &*profile;
  return ablation ? &*ablation : nullptr;
}

std::string written_schema_version(const std::string& kind) { return find_kind(kind)->second; }

json read_result_document(const std::filesystem::path& path) {
  JsonLimits limits;
  limits.exact_integers = true;
  return read_json_file(path, limits);
}

ValidationReport report_unreadable(const Error& error) {
  ValidationReport report;
  add(report, ExitCode::kUsage, {{"", error.why()}});
  conclude(report);
  return report;
}

ValidationReport validate_result(const json& document, const RulesCheck& rules_check) {
  ValidationReport report;
  check_document(document, rules_check, report);
  conclude(report);
  return report;
}

ValidationReport validate_result_file(const std::filesystem::path& path,
                                      const RulesCheck& rules_check) {
  json document;
  try {
    document = read_result_document(path);
  } catch (const Error& error) {
    return report_unreadable(error);
  }
  return validate_result(document, rules_check);
}

}  // namespace harness
