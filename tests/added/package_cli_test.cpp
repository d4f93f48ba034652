// MLPerf's package of inference from the command line, of runs by LoadGen over a workload that
// sleeps.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "tests/added/run_added.hpp"
#include "tests/added/stub_queries.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/suite_home.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

TEST_CASE("runs by LoadGen are packed as a rehearsal alone, of what MLPerf counts",
          "[mlperf][queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  REQUIRE(run_added(queries_command("single-stream", folder / "run")).code == 0);
  const fs::path file = only_file(folder / "run", ".json");
  const fs::path to = folder / "package";
  const auto submit = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"submit", "--mlperf", "--to", to.string(), file.string()});
    return run_added(words);
  };
  check_one_error(submit({}), 3, "--rehearsal packs it");
  check_one_error(submit({"--rehearsal"}), 3, "counts no task like stub-queries");
  // A log that was altered is no log of this result.
  fs::path log = file;
  log.replace_extension(".loadgen");
  write_file_atomically(log / "performance/run_1/mlperf_log_summary.txt", "all is well\n");
  check_one_error(submit({"--rehearsal"}), 3, "mlperf_log_summary.txt");
  CHECK_FALSE(fs::exists(to));
}
