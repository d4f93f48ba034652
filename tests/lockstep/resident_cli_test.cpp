// `harness run --lockstep`: the program as a side, spoken to by hand.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/side.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace fs = std::filesystem;

namespace {

struct RunningSide {
  explicit RunningSide(const std::string& options, const std::string& before = "")
      : side({"null",
              before + harness_program() + " run --workload null --lockstep --out " +
                  (folder / "out").string() + " " + options,
              {},
              folder / "log"}) {
    guard_streams();  // as the program does
  }

  nlohmann::json result() const {
    for (const auto& entry : fs::directory_iterator(folder / "out")) {
      if (entry.path().extension() == ".json") return read_json_file(entry.path());
    }
    return {};
  }

  TemporaryFolder folder{};
  ResidentSide side;
};

}  // namespace

TEST_CASE("a side steps when told, and leaves a result that says so", "[lockstep][cli]") {
  RunningSide null("--set losses=3,2,1 --set step-ms=2");
  CHECK(null.side.await_hello().unit == "step");
  CHECK(null.side.start_seconds() > 0);
  const TimedAnswer first = null.side.step(1);
  const TimedAnswer more = null.side.step(3);
  CHECK(first.answer.seconds.size() == 1);
  CHECK(more.answer.seconds.size() == 3);
  CHECK(more.answer.losses.at("total").size() == 3);
  CHECK(more.parent_seconds >= 0.006);
  CHECK(null.side.evaluate().has_value());
  CHECK(null.side.finish() == 0);

  const nlohmann::json result = null.result();
  CHECK(result.at("workload").at("lockstep") == true);
  CHECK(result.at("status").at("state") == "valid");
  std::size_t timed = 0;
  for (const auto& sample : result.at("metrics").at(0).at("samples")) {
    timed += sample.at("warmup") == false ? 1 : 0;
  }
  CHECK(timed == 4);
  const std::string out = (null.folder / "out").string();
  CHECK(run_harness({"validate", out}).code == 0);
  const Outcome shared = run_harness({"submit", out, "--to", (null.folder / "tree").string()});
  CHECK(shared.code == 3);
  CHECK_THAT(shared.err, Catch::Contains("/workload/lockstep"));
}

TEST_CASE("a side without an evaluation is valid, one that evaluates badly is not",
          "[lockstep][cli]") {
  RunningSide silent("");
  silent.side.await_hello();
  silent.side.step(1);
  CHECK(silent.side.finish() == 0);
  CHECK(silent.result().at("quality").is_null());

  RunningSide bad("--set quality=-1000");
  bad.side.await_hello();
  bad.side.step(1);
  CHECK(bad.side.evaluate()->value == -1000);
  CHECK(bad.side.finish() == 3);
}

TEST_CASE("a side that goes wrong says so before it ends", "[lockstep][cli]") {
  SECTION("a loss that is not a number") {
    RunningSide null("--set losses=1,1,nan --set step-ms=0");
    null.side.await_hello();
    // Its warm-up counts as steps of its script.
    TimedAnswer answer;
    for (int i = 0; i < 3 && !answer.answer.diverged(); ++i) answer = null.side.step(1);
    CHECK(answer.answer.diverged());
    CHECK_THROWS_AS(null.side.step(1), SideFailure);
    CHECK(null.result().at("status").at("state") == "invalid");
  }
  SECTION("a step that fails") {
    RunningSide null("--set fail-at=40 --set step-ms=0");
    null.side.await_hello();
    try {
      null.side.step(100);
      FAIL("the step does not fail");
    } catch (const SideFailure& failure) {
      CHECK_THAT(failure.what(), Catch::Contains("told to fail"));
    }
  }
  SECTION("a preparation that fails") {
    RunningSide null("--set memory=1e30");
    CHECK_THROWS_AS(null.side.await_hello(), SideFailure);
  }
  SECTION("options that make no sense") {
    RunningSide null("--runs 2");
    CHECK_THROWS_AS(null.side.await_hello(), SideFailure);
  }
}

TEST_CASE("what makes no sense for a side is refused", "[lockstep][cli]") {
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--runs", "2"}, {"--dry-run"}, {"--tier", "training"}}) {
    std::vector<std::string> arguments = {"run", "--workload", "null", "--lockstep"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_in_shell("true", arguments, "</dev/null");
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, Catch::Contains("--lockstep"));
  }
}

TEST_CASE("a side whose parent is gone, or talks nonsense, ends by itself", "[lockstep][cli]") {
  const TemporaryFolder folder;
  const std::vector<std::string> arguments = {
      "run", "--workload", "null", "--lockstep", "--out", (folder / "out").string()};
  const Outcome alone = run_in_shell("true", arguments, "</dev/null");
  CHECK(alone.code == 2);
  CHECK_THAT(alone.out, Catch::Contains("\"lockstep\":1"));
  write_file_atomically(folder / "orders", "{\"do\":\"dance\"}\n");
  const Outcome nonsense =
      run_in_shell("true", arguments, "<'" + (folder / "orders").string() + "'");
  CHECK(nonsense.code == 2);
  CHECK_THAT(nonsense.out, Catch::Contains("\"error\""));
}

TEST_CASE("sides end with their parent, however it ends", "[lockstep][cli]") {
  const int signal = GENERATE(SIGKILL, SIGTERM);
  const TemporaryFolder folder;
  const auto command = [&](const std::string& name) {
    return "echo $$ >" + (folder / name).string() + "; exec " + harness_program() +
           " run --workload null --lockstep --out " + (folder / ("out-" + name)).string();
  };
  Process bench({"bench", "--lockstep", "--out", (folder / "bench").string(), "--rounds", "100000",
                 command("a"), command("b")});
  const auto wait_until = [](const auto& is_so) {
    for (int i = 0; i < 1200 && !is_so(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return is_so();
  };
  const auto pid_of = [&](const char* name) {
    std::error_code ignored;
    if (!fs::exists(folder / name, ignored)) return static_cast<pid_t>(0);
    return static_cast<pid_t>(parse_integer(trim(read_file(folder / name, 100))).value_or(0));
  };
  REQUIRE(wait_until([&] { return pid_of("a") > 0 && pid_of("b") > 0; }));
  const std::vector<pid_t> sides = {pid_of("a"), pid_of("b")};
  bench.signal(signal);
  for (const pid_t side : sides) {
    CHECK(wait_until([&] { return ::kill(side, 0) != 0; }));
  }
  if (signal == SIGTERM) CHECK(bench.wait().code == 2);
}
