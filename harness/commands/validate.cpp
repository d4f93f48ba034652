#include <fmt/format.h>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/options.hpp"
#include "harness/result/validate.hpp"
#include "harness/run/ablation_rules.hpp"
#include "harness/run/rules.hpp"

namespace harness {
namespace {

// The rules as they are now. A result made under another version of them cannot be judged by these;
// one that names this version but another text was made under changed rules. A run that says itself
// that it is aborted, invalid or dry claims nothing that the rules could refuse.
template <class Kind>
std::vector<Violation> recheck_rules(const Kind& result, const nlohmann::json& document) {
  if (result.status.state != RunState::kValid) return {};
  const Rules rules = load_rules(home_folder(), result.rules.workload);
  if (rules.version != result.rules.version) return {};
  if (rules.sha256 != result.rules.sha256) {
    return {{"rules-file", "/workload/rules_sha256", rules.sha256, printable(result.rules.sha256),
             "the rules of this version have another text here"}};
  }
  return check_rules(rules, result, document);
}

void print(const std::string& file, const ValidationReport& report) {
  print_out(fmt::format("{}: {}\n", printable(file), printable(report.verdict)));
  for (const SchemaProblem& problem : report.problems) {
    print_out(fmt::format("  {}: {}\n", problem.path.empty() ? "(file)" : printable(problem.path),
                          printable(problem.reason, 400)));
  }
}

}  // namespace

ExitCode validate_command(const Arguments& arguments) {
  Options options("validate", "Checks result files: schema, internal consistency, digest, rules.",
                  "FILE...");
  options.allow_words("FILE...");
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (options.words().empty()) {
    throw Error("harness validate", "no file given", "harness validate runs/*/*.json");
  }
  bool unreadable = false;
  bool invalid = false;
  for (const std::string& file : options.words()) {
    const ValidationReport report =
        validate_result_file(file, {recheck_rules<Result>, recheck_rules<Ablation>});
    print(file, report);
    unreadable = unreadable || report.code == ExitCode::kUsage;
    invalid = invalid || report.code == ExitCode::kInvalid;
  }
  // What cannot be read goes first: the rest of the answer is incomplete then.
  if (unreadable) return ExitCode::kUsage;
  return invalid ? ExitCode::kInvalid : ExitCode::kOk;
}

}  // namespace harness
