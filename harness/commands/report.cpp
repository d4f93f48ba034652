#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/options.hpp"
#include "harness/commands/recheck.hpp"
#include "harness/report/html_page.hpp"
#include "harness/report/report_data.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// Every *.json below `folder`, in the order of their names. Links to folders are not followed:
/// they may lead in circles.
void add_folder(const fs::path& folder, std::vector<std::string>& files,
                ReportCollector& collector) {
  std::vector<std::string> found;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".json" && entry->is_regular_file(ignored)) {
      found.push_back(entry->path().string());
    }
  }
  if (error) collector.skip(folder.string(), "not read to its end: " + error.message());
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
}

void collect(const std::vector<std::string>& paths, ReportCollector& collector) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      add_folder(path, files, collector);
    } else {
      files.push_back(path);
    }
  }
  std::set<std::string> seen;
  for (const std::string& file : files) {
    // A file that two of the paths lead to is read once.
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(file, error);
    if (!seen.insert(error ? file : whole.string()).second) continue;
    std::vector<std::string> notes;
    const auto check = [&](const auto& result, const nlohmann::json& document) {
      return recheck(result, document, notes);
    };
    ValidationReport report = validate_result_file(file, {check, check});
    collector.add(file, std::move(report), std::move(notes));
  }
}

std::string line_about(const ReportFile& file) {
  std::string text = printable(file.name);
  if (file.problems.empty()) return text + ": " + printable(join(file.notes, "; "), 400);
  const SchemaProblem& first = file.problems.front();
  text += ": " + (first.path.empty() ? "" : printable(first.path) + ": ") +
          printable(first.reason, 400);
  if (file.problems.size() > 1) text += fmt::format(" (and {} more)", file.problems.size() - 1);
  return text;
}

/// What the page shows at its end, for the person who only sees the terminal.
void name_troubles(const ReportData& data) {
  const auto tell = [](const ReportFile& file) {
    if (!file.problems.empty()) print_err(fmt::format("harness: {}\n", line_about(file)));
  };
  for (const ReportFile& file : data.rejected) tell(file);
  for (const ReportRun& run : data.runs) tell(run.file);
  for (const ReportAblation& ablation : data.ablations) tell(ablation.file);
  for (const ReportFile& file : data.skipped) {
    print_out(fmt::format("skipped  {}\n", line_about(file)));
  }
}

}  // namespace

ExitCode report_command(const Arguments& arguments) {
  Options options(
      "report",
      "Shows results as one HTML page that opens offline, or as lines of text: PATH is a "
      "result file or a folder, which is searched with all below it.",
      "PATH... [-o F.html]");
  options.add("o,out", "write the page to this file", "F.html").allow_words("PATH...");
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (options.words().empty()) {
    throw Error("report", "no file or folder given", "harness report runs -o report.html");
  }
  ReportCollector collector;
  collect(options.words(), collector);
  const ReportData data = collector.finish();
  if (data.empty()) {
    std::string why = "there is no result of a run or an ablation in what was given";
    if (!data.rejected.empty()) why += ": " + line_about(data.rejected.front());
    throw Error("report", why, "harness report runs -o report.html");
  }
  const auto file = options.text("out");
  if (!file) {
    print_out(render_report(data));
    return data.code();
  }
  write_file_atomically(*file, render_html(make_page(data)));
  name_troubles(data);
  print_out(fmt::format("report   {} ({}, {})\n", printable(*file),
                        format_count(std::ssize(data.runs), "run"),
                        format_count(std::ssize(data.ablations), "ablation")));
  return data.code();
}

}  // namespace harness
