#include "harness/check/checked_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judged_kind.hpp"
#include "harness/check/recheck.hpp"
#include "harness/result/other_files.hpp"

namespace harness {

namespace fs = std::filesystem;

namespace {

bool is_schema(const std::string& path) { return path.ends_with(".schema.json"); }

CheckedFile check(const std::string& file, const nlohmann::json& document, bool files_beside) {
  CheckedFile checked;
  checked.file = file;
  checked.report = validate_result(document, [&](const ResultKind& kind, const ResultCommon& result,
                                                 const nlohmann::json& whole) {
    std::vector<Violation> violations = recheck(kind, result, whole, checked.notes);
    const auto* const judged = dynamic_cast<const JudgedKind*>(&kind);
    if (files_beside && judged != nullptr) {
      const std::vector<Violation> changed =
          judged->changed_beside(result, fs::path(file).parent_path(), checked.notes);
      violations.insert(violations.end(), changed.begin(), changed.end());
    }
    return violations;
  });
  return checked;
}

}  // namespace

CheckedFile check_result(const std::string& file, const nlohmann::json& document) {
  return check(file, document, false);
}

CheckedFile check_file(const std::string& file, bool keep_document) {
  nlohmann::json document;
  try {
    document = read_result_document(file);
  } catch (const Error& error) {
    return {file, report_unreadable(error), {}, {}};
  }
  CheckedFile checked = check(file, document, true);
  if (keep_document) checked.document = std::move(document);
  return checked;
}

void require_sound(const CheckedFile& checked, ExitCode code) {
  if (checked.report.problems.empty()) return;
  const SchemaProblem& first = checked.report.problems.front();
  // Of a file that cannot be read there is no more to see.
  const bool more = checked.report.problems_code != ExitCode::kUsage;
  throw Error(printable(checked.file),
              fmt::format("{}{}{}", first.path, first.path.empty() ? "" : ": ", first.reason),
              more ? "'harness validate' shows all that is wrong with it" : "", code);
}

void print_check(const CheckedFile& checked) {
  print_out(fmt::format("{}: {}\n", printable(checked.file), printable(checked.report.summary)));
  for (const SchemaProblem& problem : checked.report.problems) {
    print_out("  " + problem_text(problem) + "\n");
  }
  for (const std::string& note : checked.notes) {
    print_out(fmt::format("  note: {}\n", printable(note, 400)));
  }
}

ExitCode worse(ExitCode a, ExitCode b) {
  if (a == ExitCode::kOk) return b;
  return b == ExitCode::kUsage ? b : a;
}

std::vector<std::string> result_files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const bool is_folder = entry->is_directory(ignored);
    // LoadGen's own logs, some of which are called .json and are none.
    if (is_folder && name.ends_with(".loadgen")) entry.disable_recursion_pending();
    if (name.ends_with(".json") && !is_schema(name) && !is_folder) {
      files.push_back(entry->path().string());
    }
    entry.increment(error);
  }
  if (error) throw Error(printable(folder), "cannot be read: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> files_named(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string& folder, const Error& error)>& unreadable) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    try {
      const std::vector<std::string> below = result_files_below(path);
      files.insert(files.end(), below.begin(), below.end());
    } catch (const Error& error) {
      unreadable(path, error);
    }
  }
  return files;
}

std::vector<std::string> result_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      // A pattern of the shell (results/*/*.json) names them too.
      if (!is_schema(path)) files.push_back(path);
      continue;
    }
    std::vector<std::string> more = result_files_below(path);
    if (more.empty()) {
      throw Error(printable(path), "holds no result file (*.json)", samples_without_result(path));
    }
    std::move(more.begin(), more.end(), std::back_inserter(files));
  }
  return files;
}

}  // namespace harness
