#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/cli/options.hpp"
#include "harness/commands/command.hpp"
#include "harness/kinds/unfinished.hpp"
#include "harness/result/series.hpp"

namespace harness {
namespace {

/// The files of `path`. A folder without any is an error of its own, and the others are judged all
/// the same. What did not come to its end in it is `unfinished`, or why there are none.
std::vector<std::string> files_of(const std::string& path, std::vector<Unfinished>& unfinished,
                                  ExitCode& code) {
  std::vector<Unfinished> below = unfinished_below(path);
  try {
    std::vector<std::string> files = result_files({path});
    std::move(below.begin(), below.end(), std::back_inserter(unfinished));
    return files;
  } catch (const Error& error) {
    const std::string hint = below.empty()                  ? error.hint()
                             : below.size() > 1             ? "what did not come to its end follows"
                             : below.front().folder == path ? below.front().what
                                                            : line_of(below.front());
    const Error whole(error.what_failed(), error.why(), hint);
    print_err(fmt::format("harness: {}\n", whole.what()));
    code = worse(code, error.code());
    if (below.size() > 1) std::move(below.begin(), below.end(), std::back_inserter(unfinished));
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
  std::vector<Unfinished> unfinished;
  SeriesBook book;
  for (const std::string& path : options.words()) {
    for (const std::string& file : files_of(path, unfinished, code)) {
      const CheckedFile checked = check_file(file);
      print_check(checked);
      code = worse(code, checked.report.code);
      ++files;
      if (const ResultCommon* result = checked.report.result.get()) {
        book.add(printable(file), *result);
      }
    }
  }
  for (const Unfinished& one : unfinished) print_out("note: " + line_of(one) + "\n");
  return files > 1 ? worse(code, judge_series(book)) : code;
}

}  // namespace harness
