// Inference tasks run end to end, and what they must say of weights that are not theirs.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace harness {

/// `harness run` of four queries on one thread.
inline Outcome run_task(const std::string& task, const std::filesystem::path& out,
                        const std::vector<std::string>& more,
                        const std::vector<std::string>& environment = {}) {
  std::vector<std::string> arguments{"run",       "--workload", task,    "--steps",   "4",
                                     "--threads", "1",          "--out", out.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_harness(arguments, environment);
}

/// With $HARNESS_ASSETS a folder that has all of `task`'s files but `asset`, by links into
/// `assets`: a file that is missing, another, or cut short is refused with the way to get it.
inline void check_refused_asset(const std::string& task, const std::string& asset,
                                const std::filesystem::path& assets) {
  namespace fs = std::filesystem;
  INFO(task << ", " << asset);
  const TemporaryFolder folder;
  const fs::path own = folder / "assets";
  fs::create_directory(own);
  for (const auto& entry : fs::directory_iterator(assets)) {
    if (entry.path().filename() != asset) {
      fs::create_symlink(fs::absolute(entry.path()), own / entry.path().filename());
    }
  }
  const std::vector<std::string> environment{"HARNESS_ASSETS=" + own.string()};
  const Outcome missing = run_task(task, folder / "out", {}, environment);
  CHECK(missing.code == 1);
  CHECK_THAT(missing.err, Catch::Contains("./quickstart assets"));
  // Where a set-up would be tried first, no trial is begun, and no folder is made.
  const std::vector<std::string> open{"run",        "--workload", task,
                                      "--scenario", "offline",    "--tier",
                                      "quick",      "--out",      (folder / "out").string()};
  const Outcome at_once = run_harness(open, environment);
  CAPTURE(at_once.err);
  CHECK(at_once.code == 1);
  CHECK(at_once.err.find('\n') == at_once.err.size() - 1);
  CHECK_THAT(at_once.err, Catch::StartsWith("harness: ") && Catch::Contains("./quickstart assets"));
  const std::string nowhere = "HARNESS_ASSETS=" + (folder / "nowhere").string();
  for (const std::vector<std::string>& arguments :
       {open, std::vector<std::string>{"suite", "--tasks", task, "--tier", "quick", "--out",
                                       (folder / "out").string()}}) {
    const Outcome refused = run_harness(arguments, {nowhere});
    CHECK(refused.code == 1);
    CHECK_THAT(refused.err, Catch::StartsWith("harness: " + nowhere + ": there is no such folder"));
    CHECK(refused.err.find('\n') == refused.err.size() - 1);
    CHECK_FALSE(fs::exists(folder / "out"));
  }
  std::ofstream(own / asset) << "another";
  const Outcome other = run_task(task, folder / "out", {}, environment);
  CHECK(other.code == 1);
  CHECK_THAT(other.err, Catch::Contains("SHA-256"));
  fs::copy_file(assets / asset, own / asset, fs::copy_options::overwrite_existing);
  fs::resize_file(own / asset, fs::file_size(assets / asset) - 1);
  const Outcome shorter = run_task(task, folder / "out", {}, environment);
  CHECK(shorter.code == 1);
  CHECK_THAT(shorter.err, Catch::Contains("SHA-256"));
}

}  // namespace harness
