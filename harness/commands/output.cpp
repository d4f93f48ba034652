#include "harness/commands/output.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <optional>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/report/ablation_summary.hpp"
#include "harness/report/profile_summary.hpp"
#include "harness/report/summary.hpp"
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
    const fs::path fallback = fs::temp_directory_path(ignored) / wanted.filename();
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

ExitCode deliver_kind(const auto& result, const fs::path& file, const fs::path& samples,
                      bool strict) {
  const std::optional<Error> trouble = write_or_keep(result, file);
  print_out(render_summary(result));
  if (trouble) throw Error(*trouble);
  std::error_code ignored;
  print_out(fmt::format("\nresult   {}\nsamples  {}\n", file.string(),
                        fs::exists(samples, ignored) ? samples.string() : "none"));
  return exit_code(result.status, strict);
}

}  // namespace

fs::path new_run_folder(const std::string& workload) {
  const std::string stamp = fmt::format("{:%Y%m%d-%H%M%S}", fmt::gmtime(std::time(nullptr)));
  const fs::path base = fs::path("runs") / (stamp + "-" + workload);
  fs::path folder = base;
  for (int i = 2; fs::exists(folder); ++i) folder = fmt::format("{}-{}", base.string(), i);
  return folder;
}

ExitCode exit_code(const Status& status, bool strict) {
  switch (status.state) {
    case RunState::kAborted:
      return was_stopped(status) ? ExitCode::kAborted : ExitCode::kInvalid;
    case RunState::kInvalid:
      return ExitCode::kInvalid;
    case RunState::kValid:
    case RunState::kDryRun:
      return strict && status.mistrusted ? ExitCode::kInvalid : ExitCode::kOk;
  }
  return ExitCode::kInvalid;
}

ExitCode deliver(const Result& result, const fs::path& file, const fs::path& samples, bool strict) {
  return deliver_kind(result, file, samples, strict);
}

ExitCode deliver(const Profile& result, const fs::path& file, const fs::path& samples,
                 bool strict) {
  return deliver_kind(result, file, samples, strict);
}

ExitCode deliver(const Ablation& result, const fs::path& file, const fs::path& samples,
                 bool strict) {
  return deliver_kind(result, file, samples, strict);
}

}  // namespace harness
