#include "harness/result/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/other_files.hpp"
#include "harness/result/version_promises.hpp"

namespace harness {
namespace {

using nlohmann::json;

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

std::vector<SchemaProblem> kind_problems(const json& document, const ResultKind*& kind) {
  if (!document.is_object()) return {{"", "not an object, so not a result file"}};
  if (!document.contains("kind"))
    return {{"/kind", "no member 'kind', so this is not a result file"}};
  const std::string name = text_member(document, "kind");
  kind = find_result_kind(name);
  if (kind != nullptr) return {};
  return {{"/kind", fmt::format("'{}' is unknown to this version; known: {}", printable(name, 40),
                                names_of_kinds())}};
}

// Same major version, and a minor one we know: a newer file may hold what we would overlook.
std::vector<SchemaProblem> version_problems(const json& document, const std::string& readable) {
  const std::string version = text_member(document, "schema_version");
  const std::vector<std::string> theirs = split(version, '.');
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

std::vector<SchemaProblem> rules_problems(const RulesCheck& check, const ResultKind& kind,
                                          const ResultCommon& result, const json& document) {
  if (!check) return {};
  std::vector<Violation> found;
  try {
    found = check(kind, result, document);
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
  add(report, ExitCode::kInvalid, kind_problems(document, report.kind));
  if (!report.problems.empty()) return;
  const ResultKind& kind = *report.kind;
  const std::vector<SchemaProblem> version = version_problems(document, kind.version());
  add(report, ExitCode::kInvalid, version);
  // The canonical form needs no schema, so damage shows in files of any version.
  add(report, ExitCode::kUsage, digest_problems(document));
  if (!version.empty()) return;
  const std::vector<SchemaProblem> form = validate_schema(document, kind.schema());
  add(report, ExitCode::kInvalid, form);
  if (!form.empty()) return;
  add(report, ExitCode::kInvalid, broken_promises(document));
  try {
    report.result = kind.read(document);
    add(report, ExitCode::kInvalid, kind.inconsistencies(*report.result, document));
    add(report, ExitCode::kInvalid, rules_problems(rules_check, kind, *report.result, document));
  } catch (const Error& error) {
    // What a schema cannot say. One file's fault is not to end the check of others.
    add(report, ExitCode::kInvalid, {{"", error.why()}});
  } catch (const json::exception& error) {
    add(report, ExitCode::kInvalid, {{"", error.what()}});
  }
}

void conclude(ValidationReport& report) {
  report.code = report.problems_code;
  if (!report.problems.empty() || report.result == nullptr) {
    report.summary = fmt::format("not valid: {} problem{}", report.problems.size(),
                                 report.problems.size() == 1 ? "" : "s");
    return;
  }
  const Status& status = report.result->status;
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
      report.summary = missed_target(status) ? "sound file of a run that missed its target"
                                             : "sound file of an aborted run";
      return;
    case RunState::kDryRun:
      report.summary = "sound file of a dry run, which is no measurement";
  }
}

}  // namespace

json read_result_document(const std::filesystem::path& path) {
  JsonLimits limits;
  limits.exact_integers = true;
  const std::string instead = what_instead(path);
  if (!instead.empty()) throw Error(printable(path.string()), instead);
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
