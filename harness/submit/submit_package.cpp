#include "harness/submit/submit_package.hpp"

#include <fmt/format.h>

#include <map>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/mlperf/package.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

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

ExitCode submit_package(const std::vector<std::string>& files, const fs::path& folder,
                        bool rehearsal) {
  std::vector<PackagedRun> runs;
  for (const std::string& file : files) {
    const CheckedFile checked = check_file(file);
    require_sound(checked, checked.report.problems_code);
    runs.push_back(read_packaged_run(file));
  }
  const auto package =
      make_package(std::move(runs), load_log_rules(home_folder(), kLogRules), rehearsal);
  write_files(folder, package);
  for (const auto& [name, content] : package) print_out(fmt::format("{}\n", name));
  print_out(fmt::format("package  {}\n{}{}\n", printable(folder.string()),
                        rehearsal ? "REHEARSAL, no submission. " : "", kUnverifiedNotice));
  return ExitCode::kOk;
}

}  // namespace harness
