#include <fmt/format.h>

#include <filesystem>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/commands/command.hpp"
#include "harness/commands/options.hpp"
#include "harness/mlperf/package.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRules = "mlperf-training-5.1.0";

/// Writes all of `files` below a folder that is empty or not there yet.
void write_files(const fs::path& folder, const std::map<std::string, std::string>& files) {
  make_writable_folder(folder);
  if (!fs::is_empty(folder)) {
    throw Error("--to " + printable(folder.string()), "the folder is not empty",
                "packages are never mixed: choose another");
  }
  for (const auto& [name, content] : files) {
    const fs::path path = folder / name;
    fs::create_directories(path.parent_path());
    write_file_atomically(path, content);
    if (path.extension() == ".sh") {
      fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add);
    }
  }
}

}  // namespace

ExitCode submit_command(const Arguments& arguments) {
  Options options("submit", "Lays out five training runs as an MLPerf package.",
                  "FILE... --to DIR --mlperf [--rehearsal]");
  options.add("to", "folder of the package; empty or new", "DIR")
      .add("mlperf", "MLPerf Training's layout, ruleset 5.1.0")
      .add("rehearsal", "take runs that are not MLPerf's own, and mark every file")
      .allow_words("FILE...");
  if (!options.parse(arguments)) return ExitCode::kOk;
  if (!options.flag("mlperf")) {
    throw Error("harness submit", "--mlperf is missing", "it is the only layout there is");
  }
  const fs::path folder = options.required("to");
  std::vector<PackagedRun> runs;
  for (const std::string& file : options.words()) runs.push_back(read_packaged_run(file));
  const auto files = make_package(std::move(runs), load_log_rules(home_folder(), kRules),
                                  options.flag("rehearsal"));
  write_files(folder, files);
  for (const auto& [name, content] : files) print_out(fmt::format("{}\n", name));
  print_out(fmt::format("package  {}\n{}{}\n", printable(folder.string()),
                        options.flag("rehearsal") ? "REHEARSAL, no submission. " : "",
                        kUnverifiedNotice));
  return ExitCode::kOk;
}

}  // namespace harness
