// End to end: whatever ends the gate ends the commands that it runs, with all they have started;
// and what they print has bounds.
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "harness/lockstep/captured_output.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

namespace {

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The processes that have `mark` in their environment. It is inherited and cannot be shaken off,
/// so these are all that the one who was given it has started.
std::vector<pid_t> marked(const std::string& mark) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (content_of(entry.path() / "environ").find(mark) != std::string::npos) {
      found.push_back(std::stoi(name));
    }
  }
  return found;
}

template <class Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// A gate whose first command starts a child, a grandchild and one in a session of its own, which
/// all sleep.
struct SleepingGate {
  TemporaryFolder folder{};
  std::string mark = "HARNESS_TEST_MARK=" + folder.path().string() + ";";
  Process process;

  explicit SleepingGate(const std::string& before = "")
      : process({"gate", "--ab-base",
                 before + "sleep 300 & sh -c 'sleep 300 & wait' & setsid sh -c 'sleep 300; true' & "
                          "touch started; wait",
                 "--ab-cand", "true", "--out", "campaign"},
                {mark}, folder.path()) {}

  bool started() const { return fs::exists(folder / "started"); }
  /// The gate, its keeper, the shell, three times sleep and two shells above them.
  bool complete() const { return started() && marked(mark).size() == 8; }
  bool all_gone() const { return marked(mark).empty(); }
  pid_t keeper() const {
    for (const pid_t pid : marked(mark)) {
      if (content_of("/proc/" + std::to_string(pid) + "/comm") == "harness-keeper\n") return pid;
    }
    return 0;
  }
};

}  // namespace

TEST_CASE("kill -9 of the gate leaves no process behind", "[gate][kill]") {
  SleepingGate gate;
  REQUIRE(comes_true([&] { return gate.complete(); }));
  gate.process.signal(SIGKILL);
  CHECK(gate.process.wait().code == 128 + SIGKILL);
  CHECK(comes_true([&] { return gate.all_gone(); }));
}

TEST_CASE("kill -9 of the gate at any moment leaves no process behind", "[gate][kill]") {
  std::mt19937 random(1701);  // fixed, so that a failure can be repeated
  for (int attempt = 0; attempt < 12; ++attempt) {
    SleepingGate gate;
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 120));
    gate.process.signal(SIGKILL);
    gate.process.wait();
    CHECK(comes_true([&] { return gate.all_gone(); }));
  }
}

TEST_CASE("kill -9 of the gate ends a harness run within it, and its series", "[gate][kill]") {
  const TemporaryFolder folder;
  const std::string mark = "HARNESS_TEST_MARK=" + folder.path().string() + ";";
  const std::string run = "cd . && " + harness_program() +
                          " run --workload null --set step-ms=100000 --tier standard --runs 2";
  Process process({"gate", "--ab-base", run, "--ab-cand", run, "--out", "campaign"}, {mark},
                  folder.path());
  // The gate, its keeper, a shell, the series and its run.
  REQUIRE(comes_true([&] { return marked(mark).size() >= 4; }));
  REQUIRE(comes_true(
      [&] { return !files_ending(folder / "campaign/baseline/001", ".jsonl").empty(); }));
  process.signal(SIGKILL);
  process.wait();
  CHECK(comes_true([&] { return marked(mark).empty(); }));
}

TEST_CASE("asking twice ends the gate and a command that will not listen", "[gate][kill]") {
  SleepingGate gate("trap '' TERM; ");
  REQUIRE(comes_true([&] { return gate.complete(); }));
  gate.process.signal(SIGINT);
  REQUIRE(comes_true([&] {
    return gate.process.errors().find("a command in progress is asked to end") != std::string::npos;
  }));
  CHECK(gate.process.running());
  gate.process.signal(SIGINT);
  CHECK(gate.process.wait().code == 2);
  CHECK(comes_true([&] { return gate.all_gone(); }));
}

TEST_CASE("a keeper that is killed is an error, and takes its command with it", "[gate][kill]") {
  SleepingGate gate;
  REQUIRE(comes_true([&] { return gate.complete(); }));
  const pid_t keeper = gate.keeper();
  REQUIRE(keeper > 0);
  ::kill(keeper, SIGKILL);
  const Outcome outcome = gate.process.wait();
  check_one_error(outcome, 2, "the process that watches over a command: was killed");
  // Who left the session is nobody's then.
  for (const pid_t pid : marked(gate.mark)) ::kill(pid, SIGKILL);
}

TEST_CASE("a command that is asked to stop may still print while it ends", "[gate][kill]") {
  const TemporaryFolder folder;
  // The shell dies at once; what it waits for takes its time.
  const std::string command =
      "sh -c \"trap 'sleep 0.3; echo last words; touch saved; exit 0' TERM; touch started; "
      "while :; do sleep 0.05; done\" & wait";
  Process process({"gate", "--ab-base", command, "--ab-cand", "true", "--out", "campaign"}, {},
                  folder.path());
  REQUIRE(comes_true([&] { return fs::exists(folder / "started"); }));
  process.signal(SIGINT);
  CHECK(process.wait().code == 2);
  CHECK(comes_true([&] { return fs::exists(folder / "saved"); }));
  const fs::path log = folder / "campaign" / "asked" / "baseline.txt";
  CHECK(comes_true([&] { return content_of(log).find("last words") != std::string::npos; }));
}

TEST_CASE("an output of gigabytes is kept by its two ends, and said to be cut", "[gate][cli]") {
  const TemporaryFolder folder;
  const std::string command = "echo first; yes | head -c 30000000; echo; echo last";
  const Outcome outcome = run_harness({"gate", "--ab-base", command, "--ab-cand", command, "--out",
                                       "campaign", "--budget", "0.0001", "--format", "json"},
                                      {}, folder.path());
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 5);
  CHECK_THAT(outcome.err, Catch::Contains("baseline, pair 1: its output of 28.6 MiB is cut: ") &&
                              Catch::Contains("001.txt has the first and last 4.00 MiB"));
  CHECK_THAT(outcome.out,
             Catch::Contains("the output of 2 runs was cut to its first and last 4.00 MiB"));
  const std::string log = content_of(folder / "campaign" / "baseline" / "001.txt");
  CHECK(log.size() < 2 * kKeptOutput + 200);
  // Not by CHECK_THAT, which shows all of a long text.
  CHECK(log.starts_with("first\ny\ny\n"));
  CHECK(log.ends_with("y\n\nlast\n"));
  CHECK(log.find("[harness: 20.6 MiB cut out here, ") != std::string::npos);
}

TEST_CASE("a log that the disk does not take costs no verdict", "[gate][cli]") {
  const TemporaryFolder folder;
  const Outcome outcome = run_on_full_disk(
      {"gate", "--ab-base", "yes | head -c 100000", "--ab-cand", "yes | head -c 100000", "--out",
       (folder / "campaign").string(), "--budget", "0.0001"},
      folder.path());
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 5);
  CHECK_THAT(outcome.err, Catch::Contains("its output could not all be kept: ") &&
                              Catch::Contains("001.txt: File too large"));
  CHECK_THAT(outcome.out, Catch::Contains("the output of 2 runs could not all be written"));
}
