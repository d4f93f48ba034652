#include <fmt/format.h>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/options.hpp"
#include "harness/commands/recheck.hpp"
#include "harness/result/validate.hpp"

namespace harness {
namespace {

void print(const std::string& file, const ValidationReport& report,
           const std::vector<std::string>& notes) {
  print_out(fmt::format("{}: {}\n", printable(file), printable(report.verdict)));
  for (const SchemaProblem& problem : report.problems) {
    print_out(fmt::format("  {}: {}\n", problem.path.empty() ? "(file)" : printable(problem.path),
                          printable(problem.reason, 400)));
  }
  for (const std::string& note : notes) {
    print_out(fmt::format("  note: {}\n", printable(note, 400)));
  }
}

}  // namespace

ExitCode validate_command(const Arguments& arguments) {
  Options options("validate", "Checks result files: schema, internal consistency, digest, rules.",
                  "FILE...");
  options.allow_words("FILE...");
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (options.words().empty()) {
    throw Error("validate", "no file given", "harness validate runs/*/*.json");
  }
  bool unreadable = false;
  bool invalid = false;
  for (const std::string& file : options.words()) {
    std::vector<std::string> notes;
    const auto check = [&](const auto& result, const nlohmann::json& document) {
      return recheck(result, document, notes);
    };
    const ValidationReport report = validate_result_file(file, {check, check});
    print(file, report, notes);
    unreadable = unreadable || report.code == ExitCode::kUsage;
    invalid = invalid || report.code == ExitCode::kInvalid;
  }
  // What cannot be read goes first: the rest of the answer is incomplete then.
  if (unreadable) return ExitCode::kUsage;
  return invalid ? ExitCode::kInvalid : ExitCode::kOk;
}

}  // namespace harness
