// End to end: what is given in place of a result, or did not become one, is called what it is.
#include <signal.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

namespace {

/// The samples of a run of the null workload, which lie beside its result.
fs::path samples_in(const fs::path& folder) {
  const Outcome outcome =
      run_harness({"run", "--workload", "null", "--steps", "3", "--out", folder.string()});
  CAPTURE(outcome.err);
  REQUIRE(fs::exists(folder));
  return files_ending(folder, ".jsonl").at(0);
}

}  // namespace

TEST_CASE("samples given as a result are called samples", "[validate][report][cli]") {
  const TemporaryFolder folder;
  const fs::path samples = samples_in(folder / "run");
  const fs::path result = fs::path(samples).replace_extension(".json");
  const std::string why =
      "holds the samples of " + result.filename().string() + " beside it: give that file";
  const Outcome validated = run_harness({"validate", samples.string(), result.string()});
  CHECK(validated.code == 1);
  CHECK_THAT(validated.out, HasLines({samples.string() + ": not valid*"}));
  CHECK_THAT(validated.out, HasLines({"*" + why + "*"}));
  CHECK_THAT(validated.out, HasLines({result.string() + ": valid*"}));
  check_one_error(run_harness({"report", samples.string()}), 1, samples.string() + ": " + why);
  check_one_error(run_harness({"compare", samples.string(), result.string()}), 1, why);
  fs::remove(result);
  check_one_error(run_harness({"report", samples.string()}), 1,
                  "holds the samples of a run of which there is no result");
}

TEST_CASE("each file that is no result is named before the end", "[validate][report][cli]") {
  const TemporaryFolder folder;
  std::ofstream(folder / "other.json") << R"({"name": "something else"})";
  std::ofstream(folder / "broken.json") << "{";
  std::ofstream(folder / "plan.jsonl") << R"({"campaign": "a", "nights": []})"
                                       << "\n";
  std::vector<std::string> files;
  for (const char* name : {"other.json", "broken.json", "plan.jsonl"}) {
    files.push_back((folder / name).string());
  }
  for (const char* command : {"validate", "report"}) {
    CAPTURE(command);
    std::vector<std::string> arguments{command};
    arguments.insert(arguments.end(), files.begin(), files.end());
    const Outcome outcome = run_harness(arguments);
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == 1);
    const std::string all = outcome.out + outcome.err;
    for (const std::string& file : files) CHECK_THAT(all, HasLines({"*" + file + ": *"}));
    CHECK_THAT(all, Catch::Contains("so this is not a result file"));
    CHECK_THAT(all, Catch::Contains("belongs to a campaign of the gate"));
  }
}

TEST_CASE("the samples of a killed run are named with their folder", "[validate][report][cli]") {
  const TemporaryFolder folder;
  const fs::path samples = samples_in(folder / "runs" / "killed");
  fs::remove(fs::path(samples).replace_extension(".json"));
  const std::string what =
      samples.filename().string() + " there holds the samples of a run without a result";
  const std::string killed = (folder / "runs" / "killed").string();
  check_one_error(run_harness({"report", killed}), 1, killed + ": " + what);
  check_one_error(run_harness({"report", (folder / "runs").string()}), 1, killed + ": " + what);
  check_one_error(run_harness({"validate", killed}), 1, what);
  check_one_error(run_harness({"validate", (folder / "runs").string()}), 1, killed + ": " + what);
  // Of several each is named.
  const fs::path other = samples_in(folder / "runs" / "other");
  fs::remove(fs::path(other).replace_extension(".json"));
  for (const char* command : {"validate", "report"}) {
    const Outcome outcome = run_harness({command, (folder / "runs").string()});
    const std::string all = outcome.out + outcome.err;
    CAPTURE(command, all);
    CHECK(outcome.code == 1);
    for (const std::string& one : {killed, (folder / "runs" / "other").string()}) {
      CHECK_THAT(all,
                 HasLines({"*" + one + ": *there holds the samples of a run without a result*"}));
    }
  }
  fs::remove_all(folder / "runs" / "other");
  // Beside a sound one it is no error, and is named all the same.
  samples_in(folder / "runs" / "whole");
  for (const char* command : {"validate", "report"}) {
    const Outcome outcome = run_harness({command, (folder / "runs").string()});
    CAPTURE(command, outcome.out, outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, HasLines({"*" + killed + ": *there holds the samples*"}));
  }
}

TEST_CASE("a series that is being measured is not called unfinished", "[validate][cli]") {
  const TemporaryFolder folder;
  const fs::path out = folder / "series";
  Process process({"run", "--workload", "null", "--steps", "3", "--runs", "2", "--pause", "120",
                   "--out", out.string()});
  wait_until([&] { return !files_ending(out, ".json").empty(); });
  const Outcome now = run_harness({"validate", folder.path().string()});
  CAPTURE(now.out, now.err);
  const HasLines unfinished({"*an unfinished series lies there; to go on: *"});
  CHECK_THAT(now.out, Catch::Contains(".json: valid") && !unfinished);
  process.signal(SIGINT);
  process.wait();
  const Outcome then = run_harness({"validate", folder.path().string()});
  CAPTURE(then.out, then.err);
  CHECK_THAT(then.out, unfinished);

  // In a campaign's folder it is the gate's to go on with.
  std::ofstream(folder / "plan.jsonl") << "{}\n";
  CHECK_THAT(run_harness({"validate", folder.path().string()}).out, !unfinished);
}
