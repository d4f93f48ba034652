// End to end: every reader refuses a FIFO and a device at once; none waits for somebody to write.
#include <signal.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

namespace {

/// Ended after a minute: code 124 is of one that waits.
Outcome run_bounded(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"60", harness_program()});
  return Process(arguments, {}, {}, "timeout").wait();
}

void make_fifo(const fs::path& path) { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }

}  // namespace

TEST_CASE("no command waits for a FIFO or reads a device", "[files][cli]") {
  const TemporaryFolder folder;
  REQUIRE(run_harness({"run", "--workload", "null", "--set", "step-ms=0", "--out",
                       (folder / "run").string()})
              .code == 0);
  const std::string run = files_ending(folder / "run", ".json").at(0).string();
  make_fifo(folder / "fifo.json");
  for (const std::string& file :
       {(folder / "fifo.json").string(), std::string("/dev/zero"), std::string("/dev/tty0")}) {
    if (!fs::exists(file)) continue;
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"validate", file},
             {"compare", run, file},
             {"report", file},
             {"report", file, "-o", (folder / "page.html").string()},
             {"gate", "--baseline", file, "--candidate", run},
             {"project", file},
             {"advise", file},
             {"verify", "--golden", file},
             {"check-log", file},
             {"submit", file, "--to", (folder / "tree").string()},
             {"submit", file, "--to", (folder / "package").string(), "--mlperf"},
             {"run", "--from", file}}) {
      const Outcome outcome = run_bounded(arguments);
      CAPTURE(arguments, outcome.out, outcome.err);
      CHECK(outcome.code == 1);
      const bool said = (outcome.out + outcome.err).find("not a regular file") != std::string::npos;
      const bool denied = (outcome.out + outcome.err).find("denied") != std::string::npos;
      CHECK((said || denied));
    }
  }
  // In a folder, among sound results.
  fs::create_directories(folder / "all");
  fs::copy_file(run, folder / "all" / "a.json");
  make_fifo(folder / "all" / "b.json");
  CHECK(run_bounded({"validate", (folder / "all").string()}).code == 1);
  CHECK(run_bounded({"report", (folder / "all").string()}).code == 1);
}

TEST_CASE("a saved state that became a FIFO is refused", "[files][cli]") {
  const TemporaryFolder out;
  Process process({"run", "--workload", "null", "--tier", "training", "--runs", "1", "--set",
                   "step-ms=10", "--out", out.path().string()});
  wait_for_first_step(out.path());
  process.signal(SIGINT);
  REQUIRE(process.wait().code == 2);
  const auto refused = [&](const fs::path& file) {
    fs::remove(file);
    make_fifo(file);
    const Outcome outcome = run_bounded({"run", "--resume", out.path().string()});
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, Catch::Contains(file.filename().string()));
  };
  const fs::path header = files_ending(out.path(), ".checkpoint").at(0);
  const nlohmann::json saved = nlohmann::json::parse(read_file(header, 1 << 20));
  refused(out / saved["state_file"].get<std::string>());
  refused(header);
  refused(out / "series.state");
}
