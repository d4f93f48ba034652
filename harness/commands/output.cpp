#include "harness/commands/output.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "harness/result/result_file.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

template <class Kind>
fs::path write_or_keep(const Kind& result, const fs::path& wanted) {
  try {
    write_result_file(result, wanted);
    return wanted;
  } catch (const Error& error) {
    std::error_code ignored;
    const fs::path fallback = fs::temp_directory_path(ignored) / wanted.filename();
    write_result_file(result, fallback);
    fmt::print(stderr, "harness: {} (kept as {} instead)\n", error.what(), fallback.string());
    throw Error("result", "could not be written where it was wanted",
                "it is kept as " + fallback.string());
  }
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
      return ExitCode::kAborted;
    case RunState::kInvalid:
      return ExitCode::kInvalid;
    case RunState::kValid:
    case RunState::kDryRun:
      return strict && status.mistrusted ? ExitCode::kInvalid : ExitCode::kOk;
  }
  return ExitCode::kInvalid;
}

fs::path write_somewhere(const Result& result, const fs::path& wanted) {
  return write_or_keep(result, wanted);
}

fs::path write_somewhere(const Ablation& result, const fs::path& wanted) {
  return write_or_keep(result, wanted);
}

}  // namespace harness
