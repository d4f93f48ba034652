#include "harness/cli/output.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judgement.hpp"
#include "harness/check/output_place.hpp"
#include "harness/measure/progress.hpp"
#include "harness/report/text/ablation_summary.hpp"
#include "harness/report/text/profile_summary.hpp"
#include "harness/report/text/result_tables.hpp"
#include "harness/report/text/summary.hpp"
#include "harness/result/result_file.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

std::optional<Error> write_or_keep(const auto& result, const fs::path& wanted) {
  const ExitCode code =
      result.status.state == RunState::kAborted ? ExitCode::kAborted : ExitCode::kUsage;
  try {
    write_result_file(result, wanted);
    return std::nullopt;
  } catch (const Error& error) {
    std::error_code ignored;
    const fs::path base = fs::temp_directory_path(ignored) / wanted.stem();
    fs::path fallback = base.string() + ".json";
    for (int i = 2; !is_vacant(fallback); ++i) {
      fallback = fmt::format("{}-{}.json", base.string(), i);
    }
    try {
      write_result_file(result, fallback);
    } catch (const Error& again) {
      return Error(error.what_failed(), error.why(),
                   "nor could it be kept as " + again.what_failed() + ": " + again.why(), code);
    }
    return Error(error.what_failed(), error.why(),
                 "the result is kept as " + printable(fallback.string()), code);
  }
}

std::string table_of(const Result& result) { return metrics_csv({&result, 1}); }
std::string table_of(const Ablation& result) { return variants_csv(result); }

/// `show` prints the result itself.
ExitCode deliver_kind(const auto& result, const fs::path& file, const fs::path& samples,
                      bool strict, bool as_text, const auto& show) {
  const std::optional<Error> trouble = write_or_keep(result, file);
  show();
  if (trouble) throw Error(*trouble);
  std::error_code ignored;
  const std::string places = fmt::format("\nresult   {}\nsamples  {}\n", file.string(),
                                         fs::exists(samples, ignored) ? samples.string() : "none");
  if (as_text) {
    print_out(places);
  } else {
    flush_out();
    print_err(places.substr(1));
  }
  return exit_code(result.status, strict);
}

ExitCode deliver_as(const auto& result, const fs::path& file, const fs::path& samples, bool strict,
                    OutputFormat format) {
  return deliver_kind(result, file, samples, strict, format == OutputFormat::kText, [&] {
    if (format == OutputFormat::kText) print_out(render_summary(result));
    if (format == OutputFormat::kJson) print_out(content_of_file(result));
    if (format == OutputFormat::kCsv) print_out(table_of(result));
  });
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

ExitCode deliver(const Result& result, const fs::path& file, const fs::path& samples, bool strict,
                 OutputFormat format) {
  return deliver_as(result, file, samples, strict, format);
}

ExitCode deliver(const Profile& result, const fs::path& file, const fs::path& samples,
                 bool strict) {
  return deliver_kind(result, file, samples, strict, true,
                      [&] { print_out(render_summary(result, text_columns())); });
}

ExitCode deliver(const Ablation& result, const fs::path& file, const fs::path& samples, bool strict,
                 OutputFormat format) {
  return deliver_as(result, file, samples, strict, format);
}

void print_json(const nlohmann::json& document) {
  print_out(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_series(const std::vector<Result>& runs, OutputFormat format) {
  if (format == OutputFormat::kCsv) print_out(metrics_csv(runs));
  if (format != OutputFormat::kJson) return;
  print_out("[\n");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::string text = content_of_file(runs[i]);
    if (i + 1 < runs.size()) text.insert(text.find_last_not_of('\n') + 1, ",");
    print_out(text);
  }
  print_out("]\n");
}

}  // namespace harness
