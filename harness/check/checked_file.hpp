// A result file as `harness validate` judges it, and where result files are.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/result/validate.hpp"

namespace harness {

struct CheckedFile {
  std::string file{};
  ValidationReport report{};
  std::vector<std::string> notes{};  ///< what could not be judged here
  nlohmann::json document{};         ///< null where it could not be read
};

/// Everything that `harness validate` checks, the files beside it that it names too. The document
/// is kept only on demand: it may be large.
CheckedFile check_file(const std::string& file, bool keep_document = false);
/// The same for a document at hand, which is not kept; `file` is its name in messages.
CheckedFile check_result(const std::string& file, const nlohmann::json& document);

/// Throws Error with `code`, naming the first problem, for a file that has any.
void require_sound(const CheckedFile& checked, ExitCode code);

/// Summary, problems and notes on stdout.
void print_check(const CheckedFile& checked);

/// The code of several files together: what cannot be read goes first, for the rest of the answer
/// is incomplete then.
ExitCode worse(ExitCode a, ExitCode b);

/// The *.json files anywhere below `folder`, by name, but for schemas (*.schema.json) and what lies
/// in folders of LoadGen's logs (*.loadgen); links to folders are not followed. Throws Error for
/// what cannot be read.
std::vector<std::string> result_files_below(const std::string& folder);

/// `paths`, but for folders, and what result_files_below() finds in these; `unreadable` hears of
/// one that it throws for.
std::vector<std::string> files_named(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string& folder, const Error& error)>& unreadable);

/// Each of `paths` that is a folder gives way to the result files below it; schemas (*.schema.json)
/// are left out. Throws Error also for a folder that holds none.
std::vector<std::string> result_files(const std::vector<std::string>& paths);

}  // namespace harness
