#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/check/output_place.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/commands/command.hpp"
#include "harness/gate/kept_campaign.hpp"
#include "harness/gate/rules.hpp"
#include "harness/gate/verdict_file.hpp"
#include "harness/kinds/unfinished.hpp"
#include "harness/report/page/html_page.hpp"
#include "harness/report/page/html_render.hpp"
#include "harness/report/report_data.hpp"
#include "harness/report/text/report_forms.hpp"
#include "harness/result/kind.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// Each file of `paths` and below them, once, whatever is in it.
void collect(const std::vector<std::string>& paths, ReportCollector& collector) {
  const auto skip = [&](const std::string& folder, const Error& error) {
    collector.skip(folder, error.why());
  };
  std::set<std::string> seen;
  for (const std::string& file : files_named(paths, skip)) {
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(file, error);
    if (!seen.insert(error ? file : whole.string()).second) continue;
    CheckedFile checked = check_file(file);
    collector.add(file, std::move(checked.report), std::move(checked.notes));
  }
}

/// Whether `file` lies in `folder` or below it.
bool lies_in(const fs::path& folder, const std::string& file) {
  std::error_code ignored;
  const std::string inside = fs::weakly_canonical(folder, ignored).string() + "/";
  return fs::weakly_canonical(file, ignored).string().starts_with(inside);
}

/// The campaigns in `paths`, in which the runs of `data` may lie.
void add_campaigns(const std::vector<std::string>& paths, ReportData& data) {
  const std::vector<fs::path> folders = campaign_folders(paths);
  if (folders.empty()) return;
  GateRules rules = load_gate_rules(home_folder());
  rules.allow_debug = true;  // it was measured, whatever it is worth
  for (const fs::path& folder : folders) {
    std::vector<Result> runs;
    for (const ReportItem& run : data.runs()) {
      const bool of_a_side = lies_in(folder / "baseline", run.file.name) ||
                             lies_in(folder / "candidate", run.file.name);
      if (of_a_side) runs.push_back(as<Result>(run));
    }
    try {
      KeptCampaign kept = read_campaign(folder, runs, rules);
      data.campaigns.push_back({folder.string(), std::move(kept.report), kept.ended});
    } catch (const DamagedVerdict& error) {
      data.rejected.push_back({(folder / kVerdictFile).string(),
                               "not valid: 1 problem",
                               ExitCode::kUsage,
                               {{"", error.why() + "; " + error.hint()}},
                               {}});
    } catch (const Error& error) {
      data.skipped.push_back({folder.string(),
                              "skipped",
                              ExitCode::kOk,
                              {},
                              {std::string("campaign: ") + error.what()}});
    }
  }
}

/// What did not come to its end, and so has no result, or not all of them.
void add_unfinished(const std::vector<std::string>& paths, ReportData& data) {
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    for (const Unfinished& one : unfinished_below(path)) {
      if (!seen.insert(one.folder).second) continue;
      data.skipped.push_back({one.folder, "skipped", ExitCode::kOk, {}, {one.what}});
    }
  }
}

/// Each file that was given, or that claims to be a result, with why it is none, then the end.
[[noreturn]] void refuse_empty(const std::vector<std::string>& paths, const ReportData& data) {
  constexpr const char* kHint = "give result files, or a folder with some below it";
  std::vector<Error> errors;
  for (const ReportFile& file : data.rejected) {
    const SchemaProblem& first = file.problems.front();
    errors.emplace_back(
        printable(file.name),
        printable(first.path.empty() ? first.reason : first.path + ": " + first.reason, 400),
        kHint);
  }
  for (const ReportFile& file : data.skipped) {
    std::error_code ignored;
    const bool given = std::find(paths.begin(), paths.end(), file.name) != paths.end();
    if (!given || fs::is_directory(file.name, ignored)) continue;
    errors.emplace_back(printable(file.name), printable(join(file.notes, "; "), 400), kHint);
  }
  if (errors.empty()) {
    const std::string why =
        fmt::format("there is no result in what was given ({})", names_of_kinds());
    std::string hint = "harness report runs -o report.html";
    std::vector<Unfinished> left;
    for (const std::string& path : paths) {
      for (Unfinished& one : unfinished_below(path)) left.push_back(std::move(one));
    }
    if (left.size() == 1) hint = line_of(left.front());
    if (left.size() > 1) {
      for (const Unfinished& one : left) print_err(line_of(one) + "\n");
      hint = "what did not come to its end stands above";
    }
    throw Error("report", why, hint);
  }
  for (std::size_t i = 0; i + 1 < errors.size(); ++i) {
    print_err(fmt::format("harness: {}\n", errors[i].what()));
  }
  throw Error(errors.back());
}

std::string line_about(const ReportFile& file) {
  std::string text = printable(file.name);
  if (file.problems.empty()) return text + ": " + printable(join(file.notes, "; "), kLongestNote);
  const SchemaProblem& first = file.problems.front();
  text += ": " + (first.path.empty() ? "" : printable(first.path) + ": ") +
          printable(first.reason, 400);
  if (file.problems.size() > 1) text += fmt::format(" (and {} more)", file.problems.size() - 1);
  return text;
}

/// What the page shows at its end, for the person who only sees the terminal.
void name_troubles(const ReportData& data, void (*tell_skipped)(std::string_view) noexcept) {
  const auto tell = [](const ReportFile& file) {
    if (!file.problems.empty()) print_err(fmt::format("harness: {}\n", line_about(file)));
  };
  for (const ReportFile& file : data.rejected) tell(file);
  for_each_result(data, [&](const ReportItem& one) { tell(one.file); });
  for (const ReportFile& file : data.skipped) {
    tell_skipped(fmt::format("skipped  {}\n", line_about(file)));
  }
}

void print_report(const ReportData& data, OutputFormat format) {
  if (format == OutputFormat::kText) return print_out(render_report(data));
  if (format == OutputFormat::kCsv) {
    print_out(report_csv(data));
    return name_troubles(data, print_err);  // a table has no room for them
  }
  print_json(report_json(data));
}

}  // namespace

ExitCode report_command(const Arguments& arguments) {
  Options options(
      "report",
      "Shows results as lines of text, or as one HTML page that opens offline. PATH is a result "
      "file, or a folder, which is searched with all below it.",
      "PATH... [-o F.html]");
  options.add("o,out", "write the page to this file", "F.html");
  add_formats(options, "print what is said of each file as one JSON document",
              "print a CSV table: a row for each metric of each result");
  options.allow_words("file or folder")
      .example("harness report runs -o report.html")
      .example("harness report runs")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kInvalid});
  if (!options.parse(arguments)) return ExitCode::kOk;
  const auto file = options.text("out");
  const OutputFormat format = chosen_format(options);
  if (file && format != OutputFormat::kText) {
    throw Error("--out " + printable(*file), "given with --json or --csv", "leave one of them out");
  }
  if (file) refuse_to_replace(*file, options.words());
  ReportCollector collector;
  collect(options.words(), collector);
  ReportData data = collector.finish();
  add_campaigns(options.words(), data);
  add_unfinished(options.words(), data);
  if (data.empty()) refuse_empty(options.words(), data);
  if (!file) {
    print_report(data, format);
    return data.code();
  }
  write_file_atomically(*file, render_html(make_page(data)));
  name_troubles(data, print_out);
  std::vector<std::string> counts;
  if (!data.campaigns.empty()) {
    counts.push_back(format_count(std::ssize(data.campaigns), "campaign"));
  }
  for (const ReportGroup& group : data.groups) {
    counts.push_back(format_count(std::ssize(group.items), group.name));
  }
  print_out(fmt::format("report   {} ({})\n", printable(*file), join(counts, ", ")));
  return data.code();
}

}  // namespace harness
