#include "harness/cli/output.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judgement.hpp"
#include "harness/check/output_place.hpp"
#include "harness/measure/progress.hpp"
#include "harness/report/shown_kind.hpp"
#include "harness/report/text/result_tables.hpp"
#include "harness/result/result_file.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// Writes `content`, or else keeps it elsewhere; the error says where.
std::optional<Error> write_or_keep(const std::string& content, const fs::path& wanted,
                                   ExitCode code) {
  try {
    write_file_atomically(wanted, content);
    return std::nullopt;
  } catch (const Error& error) {
    std::error_code ignored;
    const fs::path base = fs::temp_directory_path(ignored) / wanted.stem();
    fs::path fallback = base.string() + ".json";
    for (int i = 2; !is_vacant(fallback); ++i) {
      fallback = fmt::format("{}-{}.json", base.string(), i);
    }
    try {
      write_file_atomically(fallback, content);
    } catch (const Error& again) {
      return Error(error.what_failed(), error.why(),
                   "nor could it be kept as " + again.what_failed() + ": " + again.why(), code);
    }
    return Error(error.what_failed(), error.why(),
                 "the result is kept as " + printable(fallback.string()), code);
  }
}

/// As text a result is followed by where its files are.
std::string shown(const ResultCommon& result, const std::string& content, OutputFormat format) {
  if (format == OutputFormat::kJson) return content;
  const ShownKind* kind = shown_kind_of(result);
  if (kind == nullptr) return "";
  if (format == OutputFormat::kCsv) return kind->table(result);
  return format == OutputFormat::kText ? kind->summary(result, text_columns()) : "";
}

}  // namespace

std::size_t text_columns() {
  const int columns = terminal_columns(stdout);
  return columns == 0 ? 100 : static_cast<std::size_t>(std::clamp(columns, 80, 120));
}

fs::path new_run_folder(const std::string& workload) {
  const std::string stamp = fmt::format("{:%Y%m%d-%H%M%S}", fmt::gmtime(std::time(nullptr)));
  const fs::path base = fs::path("runs") / (stamp + "-" + workload);
  fs::path folder = base;
  for (int i = 2; fs::exists(folder); ++i) folder = fmt::format("{}-{}", base.string(), i);
  return folder;
}

ExitCode deliver(const ResultCommon& result, const fs::path& file, const fs::path& samples,
                 bool strict, OutputFormat format) {
  const std::string content = content_of_file(result);
  const bool aborted = result.status.state == RunState::kAborted;
  const std::optional<Error> trouble =
      write_or_keep(content, file, aborted ? ExitCode::kAborted : ExitCode::kUsage);
  print_out(shown(result, content, format));
  if (trouble) throw Error(*trouble);
  std::error_code ignored;
  std::string places = fmt::format("\nresult   {}\n", file.string());
  if (!samples.empty()) {
    places +=
        fmt::format("samples  {}\n", fs::exists(samples, ignored) ? samples.string() : "none");
  }
  const fs::path trace = fs::path(file).replace_extension(".trace");
  if (fs::exists(trace, ignored)) {
    places +=
        fmt::format("trace    {} (for ui.perfetto.dev or chrome://tracing)\n", trace.string());
  }
  const fs::path weights = fs::path(file).replace_extension(".safetensors");
  if (fs::exists(weights, ignored)) places += fmt::format("weights  {}\n", weights.string());
  if (format == OutputFormat::kText) {
    print_out(places);
  } else {
    flush_out();
    print_err(places.substr(1));
  }
  return exit_code(result.status, strict);
}

void print_json(const nlohmann::json& document) {
  print_out(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_series(const std::vector<Result>& runs, OutputFormat format) {
  if (format == OutputFormat::kCsv) print_out(metrics_csv(runs));
  if (format != OutputFormat::kJson) return;
  print_out("[\n");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::string text = content_as_read(runs[i]);
    if (i + 1 < runs.size()) text.insert(text.find_last_not_of('\n') + 1, ",");
    print_out(text);
  }
  print_out("]\n");
}

}  // namespace harness
