// Commands given as text: their ends, their output, what they leave behind.
#include "harness/lockstep/shell_command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/captured_output.hpp"
#include "tests/support/temporary_folder.hpp"

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

TEST_CASE("a command's output is kept up to a bound, and the command not held up", "[gate]") {
  const TemporaryFolder folder;
  const ShellRun small = run_shell_command("echo hello", {}, folder / "small");
  CHECK(small.output_bytes == 6);
  CHECK(small.cut_bytes == 0);
  // Exactly what is kept, and a byte more.
  const std::string kept = std::to_string(2 * kKeptOutput);
  CHECK(run_shell_command("head -c " + kept + " /dev/zero", {}, folder / "all").cut_bytes == 0);
  CHECK((read_file(folder / "all", 1 << 30) == std::string(2 * kKeptOutput, '\0')));
  const ShellRun more =
      run_shell_command("printf a; head -c " + kept + " /dev/zero", {}, folder / "more");
  CHECK(more.cut_bytes == 1);
  CHECK(more.output_bytes == 2 * kKeptOutput + 1);
  // Not by CHECK_THAT, which shows all of a long text.
  CHECK(read_file(folder / "more", 1 << 30).find(" cut out here, 1 bytes of 8388609]\n") !=
        std::string::npos);
  // Without end.
  const ShellRun endless = run_shell_command("exec yes", {}, folder / "endless", 0.5);
  CHECK(endless.timed_out);
  CHECK(endless.output_bytes > 0);
  CHECK(read_file(folder / "endless", 1 << 30).size() <= 2 * kKeptOutput + 200);
  // Whoever closes its own output goes on.
  CHECK(run_shell_command("exec >&- 2>&-; sleep 0.1; exit 5", {}, folder / "closed").exit_code ==
        5);
}

TEST_CASE("the kept part of an output is its beginning and its end", "[gate]") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "log";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  std::string whole;
  CapturedOutput output(file);
  for (int i = 0; whole.size() < 3 * kKeptOutput; ++i) {
    // Pieces of many sizes, so that the ring turns at odd places.
    const std::string piece(1 + static_cast<std::size_t>(i) * 7919 % 100000,
                            static_cast<char>('a' + i % 26));
    whole += piece;
    output.add(piece);
  }
  output.finish();
  ::close(file);
  const std::string text = read_file(path, 1 << 30);
  CHECK(output.bytes() == whole.size());
  CHECK(output.cut() == whole.size() - 2 * kKeptOutput);
  CHECK((text.substr(0, kKeptOutput) == whole.substr(0, kKeptOutput)));
  CHECK((text.substr(text.size() - kKeptOutput) == whole.substr(whole.size() - kKeptOutput)));
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  CapturedOutput lost(full);
  lost.add("something");
  lost.finish();
  CHECK(lost.trouble() == ENOSPC);
  ::close(full);
}
