#include "harness/submit/submit_package.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/mlperf/inference_package.hpp"
#include "harness/mlperf/package.hpp"
#include "harness/result/result_file.hpp"

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

Package training_package(std::vector<PackagedRun> runs, bool rehearsal) {
  const fs::path home = home_folder();
  return make_package(std::move(runs), load_log_rules(home, kLogRules),
                      load_convergence_points(home, standard_convergence_points(home)), rehearsal);
}

}  // namespace

ExitCode submit_package(const std::vector<std::string>& files, const fs::path& folder,
                        bool rehearsal) {
  std::vector<PackagedRun> runs;
  std::vector<PackagedTest> tests;
  for (const std::string& file : files) {
    const CheckedFile checked = check_file(file);
    require_sound(checked, checked.report.problems_code);
    Result result = read_result_file(file);
    if (result.loadgen) {
      tests.push_back(packaged_test(file, std::move(result)));
    } else {
      runs.push_back(read_packaged_run(file));
    }
  }
  if (!tests.empty() && !runs.empty()) {
    throw Error("submit --mlperf", "runs of inference and of training are two packages",
                "give one kind of them", ExitCode::kInvalid);
  }
  if (!tests.empty() && !rehearsal) {
    throw Error(printable(files.front()), "no task of inference here is MLPerf's own benchmark",
                "--rehearsal packs it, marked as one", ExitCode::kInvalid);
  }
  const Package package =
      tests.empty() ? training_package(std::move(runs), rehearsal)
                    : Package{.files = make_inference_package(
                                  tests, load_inference_rules(home_folder(), kInferenceRules))};
  write_files(folder, package.files);
  for (const auto& [name, content] : package.files) print_out(fmt::format("{}\n", name));
  if (!package.score.empty()) {
    print_out(fmt::format("score    {}\nepochs   {}\n", package.score, package.convergence));
  }
  print_out(fmt::format("package  {}\n{}{}\n", printable(folder.string()),
                        rehearsal ? "REHEARSAL, no submission. " : "", kUnverifiedNotice));
  return ExitCode::kOk;
}

}  // namespace harness
