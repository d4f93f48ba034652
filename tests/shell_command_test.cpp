// Commands given as text: their ends, their output, what they leave behind.
#include "harness/gate/shell_command.hpp"

#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "tests/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a command's end is seen, its output kept", "[gate]") {
  const TemporaryFolder folder;
  const ShellRun good = run_shell_command("echo first; echo last; echo", {}, folder / "good");
  CHECK(good.exit_code == 0);
  CHECK(good.seconds > 0);
  CHECK(last_line(folder / "good") == "last");
  CHECK(run_shell_command("exit 7", {}, folder / "bad").exit_code == 7);
  CHECK(run_shell_command("kill -9 $$", {}, folder / "killed").exit_code == 137);
  CHECK(run_shell_command("no-such-command-here", {}, folder / "none").exit_code == 127);
  run_shell_command("echo \"$NAME\"; read -r line || echo no input", {{"NAME", "a 'b' c"}},
                    folder / "environment");
  CHECK(read_file(folder / "environment", 100) == "a 'b' c\nno input\n");
  CHECK_THROWS_AS(run_shell_command("true", {}, folder / "no" / "folder"), Error);
  // Its signals are as usual, whatever this program ignores.
  run_shell_command("bash -c 'yes | head -n 1; echo ${PIPESTATUS[0]}'", {}, folder / "pipe");
  CHECK(last_line(folder / "pipe") == "141");
  // What it leaves running behind cannot disturb the next run.
  const ShellRun leaves =
      run_shell_command("sh -c 'sleep 100; echo late' & echo $!", {}, folder / "leaves");
  CHECK(leaves.seconds < 50);
  const auto left = parse_integer(last_line(folder / "leaves"));
  REQUIRE(left);
  for (int i = 0; i < 500 && ::kill(static_cast<pid_t>(*left), 0) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(::kill(static_cast<pid_t>(*left), 0) != 0);
  const ShellRun slow = run_shell_command("sleep 100", {}, folder / "slow", 0.1);
  CHECK(slow.timed_out);
  CHECK(slow.seconds < 50);
  run_shell_command("printf %s " + shell_word("it's; $(x) \"y\""), {}, folder / "quoted");
  CHECK(read_file(folder / "quoted", 100) == "it's; $(x) \"y\"");
}

TEST_CASE("a harness run is told from other commands", "[gate]") {
  for (const char* command :
       {"harness run --workload null", "build/release/harness run --workload null",
        "/a/b/harness run", "./quickstart run --workload x --kernels reference",
        "A=1 nice -n 5 ./harness run", "'/a b/harness' run --workload null",
        "cd /tmp && ./harness run --workload null"}) {
    CAPTURE(command);
    CHECK(ends_in_harness_run(command));
  }
  for (const char* command : {"harness ablate --workload null", "harness", "run harness", "sleep 1",
                              "myharness-run", ""}) {
    CAPTURE(command);
    CHECK_FALSE(ends_in_harness_run(command));
  }
  // Judged by their wall time, their results would be overlooked.
  for (const char* command :
       {"harness run --workload null; sleep 1", "harness run --workload null > file",
        "harness run | tee file", "sh -c 'harness run --workload null'", "harness run & true"}) {
    CAPTURE(command);
    CHECK_THROWS_WITH(ends_in_harness_run(command), Catch::Contains("something behind"));
  }
}
