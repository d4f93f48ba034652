#include "harness/commands/checked_file.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/options.hpp"

namespace harness {

ExitCode validate_command(const Arguments& arguments) {
  Options options("validate",
                  "Checks result files: digest, schema, agreement with themselves, rules. Of a "
                  "folder it checks every *.json below it.",
                  "PATH...");
  options.allow_words()
      .example("harness validate runs/*/*.json")
      .example("harness validate results")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kInvalid});
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (options.words().empty()) {
    throw Error("validate", "no file given", "harness validate runs/*/*.json");
  }
  ExitCode code = ExitCode::kOk;
  for (const std::string& file : result_files(options.words())) {
    const CheckedFile checked = check_file(file);
    print_check(checked);
    code = worse(code, checked.report.code);
  }
  return code;
}

}  // namespace harness
