// Where the measuring commands put their files, and what they exit with.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/cli/options.hpp"
#include "harness/result/result.hpp"
#include "harness/scenario/session.hpp"

namespace harness {

/// The columns of text on stdout: the terminal's, from 80 to 120; 100 where there is none.
std::size_t text_columns();

/// A folder that does not exist yet, runs/20260131-120000-NAME below the current one.
std::filesystem::path new_run_folder(const std::string& name);

/// Writes the result's file, prints its summary and where the files are, and returns exit_code().
/// The file comes first, since a terminal may go away. Where it cannot be written (the disk that
/// took the samples may be full by now) the result goes to the folder for temporary files, and
/// Error says so after the summary.
/// An empty `samples`: such a result has none.
/// In another format than text the result stands alone on stdout, and where the files are on
/// stderr.
ExitCode deliver(const ResultCommon& result, const std::filesystem::path& file,
                 const std::filesystem::path& samples, bool strict,
                 OutputFormat format = OutputFormat::kText);

/// `document` on stdout, for people and programs; what is no UTF-8 is replaced.
void print_json(const nlohmann::json& document);

/// The runs of a series on stdout, in another format than text.
void print_series(const std::vector<Result>& runs, OutputFormat format);

}  // namespace harness
