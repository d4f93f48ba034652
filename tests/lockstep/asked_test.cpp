// Commands asked what they are: what a harness run tells and takes, and who may go on.
#include "harness/lockstep/asked.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scripted_side.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

/// A variable of this process for as long as this object lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  bool is_set() const { return std::getenv(name_) != nullptr; }

 private:
  const char* name_;
};

const Words kNull = {"--workload", "null", "--set", "step-ms=0"};

std::string null_run(const std::string& more = "") {
  return harness_program() + " run --workload null --set step-ms=0" + more;
}

std::string script(const TemporaryFolder& folder, const std::string& text) {
  write_file_atomically(folder / "script", "#!/bin/sh\n" + text);
  fs::permissions(folder / "script", fs::perms::owner_all);
  return (folder / "script").string();
}

Asking ask(const TemporaryFolder& folder, const std::string& text) {
  return ask_command(text, folder / "asked", {}, 0);
}

}  // namespace

TEST_CASE("a run tells what it is once, and does nothing else", "[asked]") {
  const TemporaryFolder folder;
  const std::string file = (folder / "told").string();
  for (const char* command : {"run", "suite"}) {
    const Variable tell("HARNESS_TELL", file);
    const Variable arguments("HARNESS_ARGUMENTS", R"(["suite","x"])");
    CHECK_FALSE(heed_asking({command, {"--out", "two words"}}));
    CHECK_FALSE(tell.is_set());
    CHECK_FALSE(arguments.is_set());
  }
  const std::vector<json> lines = lines_of(file);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].at("command") == "run");
  CHECK(lines[1].at("command") == "suite");
  CHECK(lines[0].at("arguments") == json({"--out", "two words"}));
  const Variable nowhere("HARNESS_TELL", (folder / "no" / "folder").string());
  CHECK_THROWS_WITH(heed_asking({"run", {}}), Catch::Contains("HARNESS_TELL"));
  const Variable bytes("HARNESS_TELL", file);
  CHECK_THROWS_WITH(heed_asking({"run", {"\xff"}}), Catch::Contains("no UTF-8"));
  CHECK(lines_of(file).size() == 2);
}

TEST_CASE("a run takes the arguments that it is given", "[asked]") {
  const Variable arguments("HARNESS_ARGUMENTS", R"(["run","--set","a b=\"c\"",""])");
  const std::optional<HarnessCall> call = heed_asking({"suite", {"--tasks", "x"}});
  REQUIRE(call);
  CHECK(call->command == "run");
  CHECK(call->arguments == Words{"--set", "a b=\"c\"", ""});
  CHECK_FALSE(arguments.is_set());
  CHECK(heed_asking({"run", {"own"}})->arguments == Words{"own"});
}

TEST_CASE("other commands neither tell nor take, and hand nothing on", "[asked]") {
  const TemporaryFolder folder;
  const Variable tell("HARNESS_TELL", (folder / "told").string());
  const Variable arguments("HARNESS_ARGUMENTS", "nonsense");
  const std::optional<HarnessCall> call = heed_asking({"bench", {"own"}});
  REQUIRE(call);
  CHECK(call->command == "bench");
  CHECK(call->arguments == Words{"own"});
  CHECK_FALSE(fs::exists(folder / "told"));
  CHECK_FALSE(tell.is_set());
  CHECK_FALSE(arguments.is_set());
}

TEST_CASE("arguments that make no sense are one line", "[asked][cli]") {
  for (const char* text : {"run", "{}", "[]", "[1]", R"(["run",2])", R"(["gate"])", R"(["run")"}) {
    CAPTURE(text);
    check_one_error(
        run_harness({"run", "--workload", "null"}, {std::string("HARNESS_ARGUMENTS=") + text}), 1,
        "HARNESS_ARGUMENTS");
  }
}

TEST_CASE("who is asked reads no rules and leaves nothing", "[asked][cli]") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_harness({"run", "--workload", "no-such-workload", "--out", "x"},
                  {"HARNESS_TELL=told", "HARNESS_HOME=/nowhere"}, folder.path());
  CHECK(outcome.code == 0);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.empty());
  CHECK(lines_of(folder / "told").size() == 1);
  CHECK_FALSE(fs::exists(folder / "x"));
}

TEST_CASE("what a harness starts is not asked, and takes nothing", "[asked][cli]") {
  const TemporaryFolder folder;
  // A series starts its runs as processes; they have the arguments that the series took.
  const std::string out = (folder / "runs").string();
  json list = {"run", "--workload", "null", "--set", "step-ms=0", "--runs", "2", "--out", out};
  const Outcome series = run_harness({"suite"}, {"HARNESS_ARGUMENTS=" + list.dump()});
  CAPTURE(series.out, series.err);
  CHECK(series.code == 0);
  const std::vector<fs::path> results = files_ending(out, ".json");
  REQUIRE(results.size() == 2);
  list.insert(list.begin(), "harness");
  CHECK(json::parse(read_file(results.front(), 1 << 24)).at("identity").at("command_line") == list);
  // Another command of ours runs, and what it runs does, too.
  const Outcome bench = run_harness({"bench", "--rounds", "1", "--out", (folder / "bench").string(),
                                     null_run(" --out " + (folder / "own").string()), "true"},
                                    {"HARNESS_TELL=" + (folder / "told").string()});
  CAPTURE(bench.out, bench.err);
  CHECK(bench.code == 0);
  CHECK(files_ending(folder / "own", ".json").size() == 1);
  CHECK_FALSE(fs::exists(folder / "told"));
}

TEST_CASE("a harness run is found wherever a command starts it", "[asked][cli]") {
  const TemporaryFolder own;
  const std::string wrapped = script(own, "cd / && exec " + null_run(" \"$@\"\n"));
  for (const std::string& text :
       {null_run(), "A=1 nice -n 1 " + null_run(), "cd / && " + null_run() + " | tee /dev/null",
        null_run() + " >/dev/null 2>&1", "sh -c '" + null_run() + "'",
        harness_program() + " list >/dev/null; " + null_run(), wrapped}) {
    CAPTURE(text);
    const TemporaryFolder folder;
    const Asking asked = ask(folder, text);
    CHECK(asked.failure.empty());
    REQUIRE(asked.command.call);
    CHECK(asked.command.is_run());
    CHECK(asked.command.text == text);
    CHECK(asked.command.call->arguments == kNull);
  }
  const TemporaryFolder folder;
  const Asking suite = ask(folder, harness_program() + " suite --tasks 'a b'");
  CHECK(suite.command.is_suite());
  CHECK_FALSE(suite.command.is_run());
  CHECK(suite.command.call->arguments == Words{"--tasks", "a b"});
}

TEST_CASE("another command has run whole when it is known", "[asked]") {
  const TemporaryFolder folder;
  const Asking other = ask(folder, "echo ran >" + (folder / "ran").string());
  CHECK_FALSE(other.command.call);
  CHECK(other.failure.empty());
  CHECK(fs::exists(folder / "ran"));
  CHECK(other.command.variables().empty());
  const TemporaryFolder bad;
  CHECK_THAT(ask(bad, "echo last words; exit 7").failure,
             Catch::Contains("exit code 7: last words"));
  const TemporaryFolder slow;
  CHECK_THAT(ask_command("sleep 100", slow / "asked", {}, 0.1).failure,
             Catch::Contains("was ended after"));
  // Not asked on purpose.
  const TemporaryFolder unasked;
  const std::string out = (unasked / "out").string();
  CHECK_FALSE(ask(unasked, "unset HARNESS_TELL; " + null_run(" --out " + out)).command.call);
  CHECK(files_ending(out, ".json").size() == 1);
}

TEST_CASE("a command that tells too much, or fails behind it, is refused", "[asked][cli]") {
  const TemporaryFolder two;
  CHECK_THROWS_WITH(ask(two, null_run() + "; " + null_run()),
                    Catch::Contains("starts 2 commands of ours: harness run, harness run") &&
                        Catch::Contains("unset HARNESS_TELL;"));
  const TemporaryFolder failing;
  CHECK_THROWS_WITH(
      ask(failing, null_run() + " && cat no-such-file"),
      Catch::Contains("starts a harness run, and fails") && Catch::Contains("no-such-file"));
  const TemporaryFolder forged;
  CHECK_THROWS_WITH(ask(forged, "echo '{}' >$HARNESS_TELL"),
                    Catch::Contains("does not say what was started"));
}

TEST_CASE("a side is known by its first word", "[asked][lockstep][cli]") {
  guard_streams();  // as the program does
  const auto asked = [](const std::string& text) {
    const TemporaryFolder folder;
    return ask_side(text, folder / "asked", {});
  };
  CHECK(asked(null_run()).command.is_run());
  CHECK(asked(null_run() + " | tee /dev/null").command.is_run());
  // It greets, and would then wait for ever.
  const Asking peer = asked(told("0.001"));
  CHECK_FALSE(peer.command.call);
  CHECK(peer.failure.empty());
  CHECK_THAT(asked("exit 3").failure, Catch::Contains("exit code 3"));
  CHECK_THROWS_WITH(asked(null_run() + "; " + told("0.001")),
                    Catch::Contains("speaks the protocol by itself"));
  CHECK_THROWS_WITH(asked(null_run() + "; exit 4"), Catch::Contains("exit code 4"));
}

TEST_CASE("options are looked for among the arguments, and added to them", "[asked]") {
  const AskedCommand command{"x --tier quick", HarnessCall{"run", {"--out=a", "--set", "b"}}};
  CHECK(command.has("--out"));
  CHECK(command.has("--set"));
  CHECK_FALSE(command.has("--ou"));
  CHECK_FALSE(command.has("--tier"));  // that is text, for a shell
  const AskedCommand more = command.with({"--seed", "3"});
  CHECK(more.call->arguments == Words{"--out=a", "--set", "b", "--seed", "3"});
  CHECK(command.call->arguments.size() == 3);
  REQUIRE(more.variables().size() == 1);
  CHECK(more.variables().front().first == "HARNESS_ARGUMENTS");
  CHECK(json::parse(more.variables().front().second) ==
        json({"run", "--out=a", "--set", "b", "--seed", "3"}));
  CHECK_FALSE(AskedCommand{"harness run --out x"}.has("--out"));
}
