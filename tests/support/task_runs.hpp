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
