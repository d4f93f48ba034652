// Sides in lockstep: honest ones, and all that go wrong.
#include "harness/lockstep/cluster.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/lockstep/cluster_json.hpp"
#include "harness/lockstep/doubts.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scripted_side.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

constexpr const char* kHello = R"(echo '{"lockstep":1,"name":"shell","unit":"step"}';)";

/// A side in the shell that says `hello` and answers each order of steps by `answer`.
std::string side_that(const std::string& answer, const std::string& hello = kHello) {
  return hello +
         " while read -r line; do case $line in *finish*) exit 0;; *evaluate*) echo "
         R"('{"quality":{"metric":"m","value":1}}';; *) )" +
         answer + ";; esac; done";
}

const std::string kHonest = side_that(R"(sleep 0.01; echo '{"seconds":[0.01]}')");

/// As a line of a campaign's file it is the same again.
void check_kept(const ClusterRecord& record) {
  const std::string line = line_of(to_json(record));
  CHECK(line_of(to_json(cluster_from(nlohmann::json::parse(line)))) == line);
}

class Sides {
 public:
  Sides() { guard_streams(); }  // as the program does: a side that is gone is no signal

  std::vector<SideCommand> of(const std::vector<std::string>& commands) {
    std::vector<SideCommand> sides;
    for (const std::string& command : commands) {
      const std::string name(1, static_cast<char>('a' + sides.size()));
      sides.push_back({name, command, {}, folder_ / (std::to_string(++logs_) + name)});
    }
    return sides;
  }

  /// Of an honest side and one that runs `command`.
  ClusterRecord run_against(const std::string& command, std::int64_t rounds = 3,
                            const SidePatience& patience = {.start = 20}) {
    return run_cluster(of({kHonest, command}),
                       {.rounds = rounds, .evaluate = true, .patience = patience}, 1);
  }

  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  int logs_ = 0;
};

}  // namespace

TEST_CASE("two sides step in turn, in balanced order", "[lockstep]") {
  Sides sides;
  const std::string log = (sides.folder() / "turns").string();
  const auto noting = [&](const std::string& name) {
    return side_that("echo " + name + " >>" + log + R"(; echo '{"seconds":[0.001]}')");
  };
  int turns = 0;
  const ClusterRecord record =
      run_cluster(sides.of({noting("a"), noting("b")}), {.rounds = 4, .evaluate = true}, 1,
                  [&](std::size_t, const LockstepTurn&) { ++turns; });
  CHECK(record.failed.empty());
  CHECK(turns == 8);
  CHECK(read_file(log, 100) == "a\nb\nb\na\na\nb\nb\na\n");
  REQUIRE(record.sides.size() == 2);
  for (const SideTurns& side : record.sides) {
    CHECK(side.hello.name == "shell");
    CHECK(side.turns.size() == 4);
    CHECK(side.start_seconds > 0);
    CHECK(side.exit_code == 0);
    CHECK(side.quality->value == 1);
    CHECK(side.turns.front().timed.parent_seconds > 0);
  }
  // The next cluster begins with the other one.
  run_cluster(sides.of({noting("a"), noting("b")}), {.rounds = 1}, 2);
  CHECK(read_file(log, 100).ends_with("b\na\n"));
}

TEST_CASE("a quality is asked of those alone that are evaluated", "[lockstep]") {
  Sides sides;
  std::vector<SideCommand> commands = sides.of({kHonest, kHonest});
  commands[1].evaluated = false;
  const ClusterRecord record = run_cluster(commands, {.rounds = 1, .evaluate = true}, 1);
  CHECK(record.failure.empty());
  CHECK(record.sides[0].quality.has_value());
  CHECK_FALSE(record.sides[1].quality.has_value());
}

TEST_CASE("a side that counts in another unit has no turn", "[lockstep]") {
  Sides sides;
  const std::string queries = side_that(R"(echo '{"seconds":[0.01]}')",
                                        R"(echo '{"lockstep":1,"name":"q","unit":"query"}';)");
  ClusterRecord record =
      run_cluster(sides.of({kHonest, queries}), {.rounds = 1, .unit = "step"}, 1);
  CHECK(record.failed == "b");
  CHECK(record.failure == "its unit is 'query', and has to be 'step'");
  CHECK(record.sides[0].turns.empty());
  record = run_cluster(sides.of({kHonest, queries}), {.rounds = 1}, 1);
  CHECK(record.failure.empty());
}

TEST_CASE("steps that a side needs to settle are not timed", "[lockstep]") {
  Sides sides;
  const std::string log = (sides.folder() / "orders").string();
  const std::string settling =
      side_that("echo \"$line\" >>" + log +
                    R"(; case $line in *2*) echo '{"seconds":[9,9]}';; *) sleep 0.01; )"
                    R"(echo '{"seconds":[0.01]}';; esac)",
                R"(echo '{"lockstep":1,"name":"s","unit":"step","settle":2}';)");
  const ClusterRecord record = sides.run_against(settling, 2);
  CHECK(record.failure.empty());
  REQUIRE(record.sides[1].turns.size() == 2);
  CHECK(record.sides[1].turns.front().timed.answer.seconds == std::vector<double>{0.01});
  CHECK(read_file(log, 1000) ==
        "{\"count\":2,\"do\":\"step\"}\n{\"count\":1,\"do\":\"step\"}\n"
        "{\"count\":2,\"do\":\"step\"}\n{\"count\":1,\"do\":\"step\"}\n");
}

TEST_CASE("what a side needs to settle, and the steps of a turn, are measured", "[lockstep]") {
  Sides sides;
  // Behind another side's turn its first step takes five times as long.
  const auto settling = [&](const std::string& name) {
    const std::string last = (sides.folder() / "last").string();
    return side_that("f=0.005; [ \"$(cat " + last + ")\" = " + name + " ] && f=0.001; echo " +
                     name + " >" + last + "; " + answer_told("0.001") + " | sed s/0.001/$f/");
  };
  const ClusterRecord record =
      run_cluster(sides.of({settling("a"), settling("b")}),
                  {.rounds = 4, .steps_per_turn = std::nullopt, .settle = std::nullopt}, 1);
  CHECK(record.failure.empty());
  CHECK(record.settle == 1);
  CHECK(record.steps_per_turn == 8);
  check_kept(record);
  for (const SideTurns& side : record.sides) {
    REQUIRE(side.turns.size() == 4);
    for (const LockstepTurn& turn : side.turns) {
      CHECK(turn.timed.answer.seconds == std::vector<double>(8, 0.001));
    }
  }
}

TEST_CASE("a side that dies while settling is measured has failed", "[lockstep]") {
  Sides sides;
  const std::string dying =
      side_that("orders=$((orders+1)); [ $orders -lt 9 ] || exit 5; " + answer_told("0.001"));
  const ClusterRecord record =
      run_cluster(sides.of({side_that(answer_told("0.001")), dying}),
                  {.rounds = 4, .steps_per_turn = std::nullopt, .settle = std::nullopt}, 1);
  CHECK(record.failed == "b");
  CHECK_THAT(record.failure, Catch::Contains("exit code 5"));
  check_kept(record);
}

TEST_CASE("a side may ask for more steps to settle than measuring shows", "[lockstep]") {
  Sides sides;
  const std::string log = (sides.folder() / "orders").string();
  const std::string asking =
      side_that("echo \"$line\" >>" + log + "; " + answer_told("0.001"),
                R"(echo '{"lockstep":1,"name":"s","unit":"step","settle":3}';)");
  const ClusterRecord record =
      run_cluster(sides.of({side_that(answer_told("0.001")), asking}),
                  {.rounds = 2, .steps_per_turn = std::nullopt, .settle = std::nullopt}, 1);
  CHECK(record.failure.empty());
  CHECK(record.settle == 0);
  CHECK(read_file(log, 10000)
            .ends_with("{\"count\":3,\"do\":\"step\"}\n{\"count\":8,\"do\":\"step\"}\n"));
}

TEST_CASE("sides with several steps a turn take as many untimed before the first round",
          "[lockstep]") {
  Sides sides;
  const auto orders_of = [&](std::int64_t steps_per_turn) {
    const std::string log = (sides.folder() / "orders").string();
    std::filesystem::remove(log);
    // Whoever is asked tells its name, and how many steps were ordered.
    const auto telling = [&](const std::string& name) {
      return side_that("n=${line#*:}; echo " + name + "${n%%,*} >>" + log + "; " +
                       answer_told("0.001"));
    };
    const ClusterRecord record =
        run_cluster(sides.of({telling("a"), telling("b")}),
                    {.rounds = 1, .steps_per_turn = steps_per_turn, .settle = 0}, 1);
    CHECK(record.failure.empty());
    for (const SideTurns& side : record.sides) CHECK(side.turns.size() == 1);
    return read_file(log, 10000);
  };
  CHECK(orders_of(1) == "a1\nb1\n");
  CHECK(orders_of(2) == "a1\na1\nb1\nb1\na2\nb2\n");
}

TEST_CASE("a loss that is not finite in an untimed step is seen", "[lockstep]") {
  Sides sides;
  const std::string diverging =
      side_that(R"(n=$((n+1)); l=1; [ $n -lt 4 ] || l=null; )"
                R"(echo "{\"seconds\":[0.001],\"losses\":{\"total\":[$l]}}")");
  const ClusterRecord record =
      run_cluster(sides.of({kHonest, diverging}), {.rounds = 4, .settle = std::nullopt}, 1);
  CHECK(record.failure.empty());
  REQUIRE(record.sides[1].turns.size() == 1);
  CHECK(record.sides[1].turns.front().timed.answer.diverged());
}

TEST_CASE("a side that fails ends its cluster with the reason", "[lockstep][long]") {
  struct Case {
    std::string command;
    std::string reason;
  };
  const std::string one = R"(echo '{"seconds":[0.01]}')";
  const std::vector<Case> cases = {
      {"no-such-command-here", "127"},
      {"exit 3", "exit code 3"},
      {"sleep 0.1; echo good morning; sleep 100", "good morning"},
      {R"(echo '{"error":"no data here"}'; exit 1)", "no data here"},
      {"printf '{\"lockstep\":1,'", "midst"},
      {"sleep 100 & exit 0", "ended"},
      {"setsid sleep 100 & exit 0", "ended"},
      {"printf '\\377\\n'; sleep 100", "no JSON"},
      {"head -c 10000000 /dev/zero | tr '\\0' x; sleep 100", "a line of more than"},
      {side_that("echo hello; " + one), "hello"},
      {side_that(one + "; " + one), "without being asked"},
      {side_that("exit 5"), "exit code 5"},
      {side_that("kill -9 $$"), "signal 9"},
      {side_that(R"(echo '{"seconds":[-1]}')"), "no time of a step"},
      {side_that(R"(echo '{"seconds":[1e300]}')"), "no time of a step"},
      {side_that(R"(echo '{"seconds":[1e-320]}')"), "no time of a step"},
      {side_that(R"(echo '{"seconds":[0.1,0.1]}')"), "2 steps"},
      {side_that(R"(printf '{"seconds":'; sleep 0.1; exit 0)"), "midst"},
      {side_that(R"(echo '{"error":"out of memory"}'; exit 1)"), "out of memory"}};
  Sides sides;
  for (const Case& one_case : cases) {
    INFO(one_case.command);
    const ClusterRecord record = sides.run_against(one_case.command);
    CHECK(record.failed == "b");
    CHECK_THAT(record.failure, Catch::Contains(one_case.reason));
    check_kept(record);
  }
}

TEST_CASE("a side that hangs is not waited for for ever", "[lockstep]") {
  Sides sides;
  const ClusterRecord record = sides.run_against(
      side_that(R"(n=$((n+1)); [ $n -lt 2 ] || sleep 100; echo '{"seconds":[0.01]}')"), 3,
      {.start = 20, .answer = 3, .times_slowest = 2});
  CHECK(record.failed == "b");
  CHECK_THAT(record.failure, Catch::Contains("hangs"));
}

TEST_CASE("a loss that is not finite ends the cluster, and stays in it", "[lockstep]") {
  Sides sides;
  const ClusterRecord record = sides.run_against(
      side_that(R"(sleep 0.01; echo '{"seconds":[0.01],"losses":{"total":[null]}}')"));
  check_kept(record);
  CHECK(record.failed.empty());
  REQUIRE(record.sides[1].turns.size() == 1);
  CHECK(record.sides[1].turns.front().timed.answer.diverged());
}

TEST_CASE("a clock that lies and a side that does not sleep are found", "[lockstep]") {
  Sides sides;
  ClusterRecord record = sides.run_against(side_that(R"(sleep 0.1; echo '{"seconds":[0.05]}')"), 3);
  CHECK_FALSE(clock_trouble(record.sides[1]).empty());
  CHECK(sleep_trouble(record.sides[1]).empty());
  // What it started spins through the other's turns.
  const std::string slow = side_that(R"(sleep 0.3; echo '{"seconds":[0.3]}')");
  record = run_cluster(sides.of({slow, "(while :; do :; done) & " + slow}), {.rounds = 3}, 1);
  CHECK(record.failure.empty());
  CHECK(sleep_trouble(record.sides[0]).empty());
  CHECK_FALSE(sleep_trouble(record.sides[1]).empty());
}

TEST_CASE("the program itself is a side", "[lockstep]") {
  Sides sides;
  const std::string harness = harness_program();
  const auto command = [&](const std::string& more) {
    return harness + " run --workload null --lockstep --set step-ms=50 --out " +
           (sides.folder() / ("out" + std::to_string(more.size()))).string() + more;
  };
  const ClusterRecord record = run_cluster(
      sides.of({command(""), command(" --set losses=3,2,1")}),
      {.rounds = 3, .steps_per_turn = 2, .evaluate = true, .patience = {.start = 60}}, 1);
  INFO(record.failure);
  CHECK(record.failed.empty());
  for (const SideTurns& side : record.sides) {
    REQUIRE(side.turns.size() == 3);
    CHECK(side.turns.back().timed.answer.seconds.size() == 2);
    CHECK(side.turns.back().timed.answer.phases.contains("work"));
    CHECK(side.quality.has_value());
    CHECK(side.exit_code == 0);
    CHECK(side.hello.setup.at("workload") == "null");
  }
}

TEST_CASE("what is no cluster is not read as one", "[lockstep]") {
  for (
      const char* text :
      {"{}", "[]", "3", R"({"cluster":1,"seconds":1,"sides":3})",
       R"({"cluster":1,"seconds":-1,"sides":[]})", R"({"cluster":1,"seconds":1,"sides":[{}]})",
       R"({"cluster":1,"seconds":1,"sides":[],"steps_per_turn":0})",
       R"({"cluster":1,"seconds":1,"sides":[],"steps_per_turn":2.5})",
       R"({"cluster":1,"seconds":1,"sides":[],"settle":101})",
       R"({"cluster":1,"seconds":1,"sides":[],"settle":1e300})",
       R"({"cluster":1,"seconds":1,"sides":[{"side":"a","says":"a","unit":"step","start_seconds":1,"idle_seconds":1,"idle_cpu_seconds":0,"exit_code":0,"turns":[{"round":1,"place":1,"parent_seconds":1,"seconds":[-1]}]}]})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(cluster_from(nlohmann::json::parse(text)), ProtocolError);
  }
}

TEST_CASE("what waits for a processor does not lie about its time", "[lockstep]") {
  SideTurns side;
  for (int i = 0; i < 9; ++i) {
    LockstepTurn turn;
    turn.timed.answer.seconds = {0.010};
    turn.timed.parent_seconds = 0.015;
    side.turns.push_back(turn);
  }
  CHECK_FALSE(clock_trouble(side).empty());
  for (LockstepTurn& turn : side.turns) turn.timed.waited_seconds = 0.0045;
  CHECK(untold_seconds(side.turns.front().timed) == Approx(0.0005));
  CHECK(clock_trouble(side).empty());
  // Waiting explains what is too long, never what is too short.
  for (LockstepTurn& turn : side.turns) turn.timed.parent_seconds = 0.005;
  CHECK(untold_seconds(side.turns.front().timed) == Approx(-0.005));
  CHECK_FALSE(clock_trouble(side).empty());
}
