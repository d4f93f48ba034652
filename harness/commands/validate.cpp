#include <fmt/format.h>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/cli/options.hpp"
#include "harness/commands/command.hpp"
#include "harness/result/series.hpp"

namespace harness {
namespace {

/// The files of `path`. A folder without any is an error of its own, and the others are judged all
/// the same.
std::vector<std::string> files_of(const std::string& path, ExitCode& code) {
  try {
    return result_files({path});
  } catch (const Error& error) {
    print_err(fmt::format("harness: {}\n", error.what()));
    code = worse(code, error.code());
    return {};
  }
}

/// What only several files together show.
ExitCode judge_series(const SeriesBook& book) {
  const std::vector<std::string> contradictions = book.contradictions();
  for (const std::string& line : contradictions) print_out("not valid: " + line + "\n");
  // Single files are sound without the rest.
  for (const std::string& line : book.gaps()) print_out("note: " + line + "\n");
  return contradictions.empty() ? ExitCode::kOk : ExitCode::kInvalid;
}

}  // namespace

ExitCode validate_command(const Arguments& arguments) {
  Options options("validate",
                  "Checks result files: digest, schema, agreement with themselves, rules. Of a "
                  "folder it checks every *.json below it.",
                  "PATH...");
  options.allow_words("file")
      .example("harness validate runs/*/*.json")
      .example("harness validate results")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kInvalid});
  if (!options.parse(arguments)) return ExitCode::kOk;
  ExitCode code = ExitCode::kOk;
  std::size_t files = 0;
  SeriesBook book;
  for (const std::string& path : options.words()) {
    for (const std::string& file : files_of(path, code)) {
      const CheckedFile checked = check_file(file);
      print_check(checked);
      code = worse(code, checked.report.code);
      ++files;
      if (const ResultCommon* result = checked.report.result.get()) {
        book.add(printable(file), *result);
      }
    }
  }
  return files > 1 ? worse(code, judge_series(book)) : code;
}

}  // namespace harness
