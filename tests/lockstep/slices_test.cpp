// Steps that are cut up: while one side works the others stand still, and nobody loses time by it.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/print.hpp"
#include "harness/lockstep/cluster.hpp"
#include "harness/lockstep/cluster_json.hpp"
#include "harness/lockstep/doubts.hpp"
#include "harness/lockstep/stops.hpp"
#include "harness/stats/stats.hpp"
#include "tests/support/scripted_side.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

std::string side_that(const std::string& answer, const std::string& more = R"(,"slices":true)") {
  return side_that_tells(answer, more);
}

/// What `work` takes by the side's own clock, which does not know of stops.
std::string timed(const std::string& work) {
  return "a=$(date +%s%N); " + work +
         R"(; b=$(date +%s%N); printf '{"seconds":[%d.%09d],"phases":{"all":[%d.%09d]}}\n' )"
         "$(((b-a)/1000000000)) $(((b-a)%1000000000)) $(((b-a)/1000000000)) $(((b-a)%1000000000))";
}

/// Some tenths of a second of a processor.
const std::string kWork = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done";

class Sides {
 public:
  Sides() { guard_streams(); }

  ClusterRecord run(const std::vector<std::string>& commands, const LockstepPlan& plan) {
    std::vector<SideCommand> sides;
    for (const std::string& command : commands) {
      const std::string name(1, static_cast<char>('a' + sides.size()));
      sides.push_back({name, command, {}, folder_ / (std::to_string(++logs_) + name)});
    }
    return run_cluster(sides, plan, 1);
  }

  std::string file_with(const std::string& script) const {
    write_file_atomically(folder_ / "script", script);
    return (folder_ / "script").string();
  }

 private:
  TemporaryFolder folder_;
  int logs_ = 0;
};

constexpr double kShort = 0.02;

double stopped_in(const SideTurns& side) {
  double seconds = 0;
  for (const LockstepTurn& turn : side.turns) seconds += turn.timed.stopped_seconds;
  return seconds;
}

}  // namespace

TEST_CASE("a step that is cut up takes as long as it worked", "[lockstep]") {
  Sides sides;
  const std::string side = side_that(timed(kWork));
  const ClusterRecord record =
      sides.run({side, side, side}, {.rounds = 2, .slice_seconds = kShort});
  REQUIRE(record.failure.empty());
  CHECK(record.slice_seconds == kShort);
  double worked = 0;
  for (const SideTurns& one : record.sides) {
    REQUIRE(one.turns.size() == 2);
    CHECK(stopped_in(one) > 0);
    for (const LockstepTurn& turn : one.turns) {
      worked += turn.timed.parent_seconds;
      // Its own clock ran on while it stood still, for about twice as long as it worked.
      CHECK(turn.timed.answer.seconds.front() <= turn.timed.parent_seconds);
      CHECK((turn.timed.stopped_seconds == 0 || turn.timed.answer.phases.empty()));
    }
  }
  // They took turns: together no longer than the rounds. Side by side it would be three times that.
  CHECK(worked <= record.rounds_seconds);
  const std::string line = line_of(to_json(record));
  CHECK(line_of(to_json(cluster_from(nlohmann::json::parse(line)))) == line);
}

TEST_CASE("the order in which sides begin is balanced where steps are cut up, too", "[lockstep]") {
  Sides sides;
  const std::string side = side_that(timed(kWork));
  const ClusterRecord record = sides.run({side, side}, {.rounds = 2, .slice_seconds = kShort});
  REQUIRE(record.failure.empty());
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& turns = record.sides[i].turns;
    REQUIRE(turns.size() == 2);
    CHECK(turns[0].place == (i == 0 ? 1 : 2));
    CHECK(turns[1].place == (i == 0 ? 2 : 1));
  }
}

TEST_CASE("a side that sleeps in its step is not stopped: its sleep is its own", "[lockstep]") {
  Sides sides;
  const ClusterRecord record = sides.run(
      {side_that(timed("sleep 0.3")), side_that(timed(kWork + "; sleep 0.3"))}, {.rounds = 3});
  REQUIRE(record.failure.empty());
  for (const SideTurns& one : record.sides) {
    std::vector<double> seconds;
    for (const LockstepTurn& turn : one.turns) {
      seconds.push_back(turn.timed.answer.seconds.front());
    }
    // Once in some hundred times the stop and the beginning of the sleep may meet.
    CHECK(median(seconds) >= 0.3);
  }
}

TEST_CASE("a step is cut up where all sides allow it, and nobody needs more than one",
          "[lockstep]") {
  Sides sides;
  const std::string side = side_that(timed(kWork));
  const auto slice_of = [&](const std::vector<std::string>& commands, LockstepPlan plan) {
    plan.rounds = 1;
    const ClusterRecord record = sides.run(commands, plan);
    CHECK(record.failure.empty());
    for (const SideTurns& one : record.sides) {
      CHECK((record.slice_seconds > 0 || stopped_in(one) == 0));
    }
    return record.slice_seconds;
  };
  CHECK(slice_of({side, side}, {}) == LockstepPlan{}.slice_seconds);
  CHECK(slice_of({side}, {}) == 0);
  CHECK(slice_of({side, side}, {.slice_seconds = 0}) == 0);
  CHECK(slice_of({side, side_that(timed(kWork), "")}, {}) == 0);
  CHECK(slice_of({side, side_that(timed(kWork), R"(,"slices":false)")}, {}) == 0);
  const std::string one = R"(echo '{"seconds":[1e-9]}')";
  CHECK(slice_of({side, side_that(one, R"(,"slices":true,"settle":1)")}, {}) == 0);
  const std::string two =
      side_that(R"(n=${line#*:}; [ "${n%%,*}" = 2 ] && )"
                R"(echo '{"seconds":[1e-9,1e-9]}' || echo '{"seconds":[1e-9]}')");
  CHECK(slice_of({two, two}, {.steps_per_turn = 2}) == 0);
}

TEST_CASE("a side that fails while another one stands still is named", "[lockstep]") {
  struct Case {
    std::string answer;
    std::string reason;
  };
  const std::vector<Case> cases = {{kWork + "; exit 7", "exit code 7"},
                                   {kWork + "; echo nonsense", "no JSON"},
                                   {kWork + R"(; echo '{"seconds":[0.1,0.1]}')", "2 steps"},
                                   {"while :; do :; done", "hangs"}};
  Sides sides;
  for (const Case& one : cases) {
    INFO(one.answer);
    const ClusterRecord record =
        sides.run({side_that(timed(kWork)), side_that(one.answer)},
                  {.rounds = 2, .slice_seconds = kShort, .patience = {.start = 3, .answer = 3}});
    CHECK(record.failed == "b");
    CHECK_THAT(record.failure, Catch::Contains(one.reason));
  }
}

TEST_CASE("a side that was stopped, and does not leave that out, is timed by our clock",
          "[lockstep]") {
  Sides sides;
  const std::string told = R"(; echo '{"seconds":[0.001]}')";
  const ClusterRecord record =
      sides.run({side_that(kWork + told),
                 side_that(kWork + told, R"(,"slices":true,"leaves_out_stops":true)")},
                {.rounds = 3, .slice_seconds = kShort});
  REQUIRE(record.failure.empty());
  for (const LockstepTurn& turn : record.sides[0].turns) {
    if (turn.timed.stopped_seconds == 0) continue;
    CHECK(turn.timed.answer.seconds.front() == turn.timed.parent_seconds);
  }
  for (const LockstepTurn& turn : record.sides[1].turns) {
    CHECK(turn.timed.answer.seconds.front() == 0.001);
  }
  CHECK_FALSE(clock_trouble(record.sides[1]).empty());
}

TEST_CASE("a side that does not stop steps at one go, or has failed", "[lockstep]") {
  Sides sides;
  const std::string file = sides.file_with(side_that(timed(kWork)));
  // A process group of its own in the same session, which no signal for the other one reaches.
  ClusterRecord record = sides.run(
      {"exec 3<&0; exec bash -c 'set -m; sh " + file + " <&3 & wait'", side_that(timed(kWork))},
      {.rounds = 3, .slice_seconds = kShort});
  CHECK(record.failure.empty());
  CHECK(record.slice_seconds == kShort);
  CHECK(stopped_in(record.sides[0]) == 0);
  // Another session answers, while something in this one works.
  record = sides.run({"(while :; do :; done) & setsid -w sh " + file, side_that(timed(kWork))},
                     {.rounds = 20, .slice_seconds = kShort});
  CHECK(record.failed == "a");
  CHECK_THAT(record.failure, Catch::Contains("slices"));
}

TEST_CASE("a loss that is not finite ends a round that is cut up", "[lockstep]") {
  Sides sides;
  const std::string diverging =
      side_that(R"(echo '{"seconds":[0.001],"losses":{"total":[null]}}')");
  const ClusterRecord record =
      sides.run({side_that(timed(kWork)), diverging}, {.rounds = 2, .slice_seconds = kShort});
  CHECK(record.failure.empty());
  REQUIRE(record.sides[1].turns.size() == 1);
  CHECK(record.sides[1].turns.front().timed.answer.diverged());
  CHECK(record.sides[0].turns.empty());
}

TEST_CASE("a side reads from its parent's memory how long it was stopped", "[lockstep]") {
  StopsTold told;
  const auto [name, value] = told.variable();
  ::setenv(name.c_str(), value.c_str(), 1);
  const std::function<double()> heard = stops_heard();
  REQUIRE(heard);
  CHECK(std::getenv(name.c_str()) == nullptr);  // it does not mean what this process starts
  CHECK(heard() == 0);
  told.add(0.25);
  told.add(1.5);
  CHECK(heard() == Approx(1.75));

  CHECK_FALSE(stops_heard());
  // Nothing that somebody else calls by that name is taken for it.
  for (const char* wrong : {"", "/no/such/file", "/dev/zero", "/", "/proc/self/cmdline"}) {
    CAPTURE(wrong);
    ::setenv(name.c_str(), wrong, 1);
    CHECK_FALSE(stops_heard());
  }
}
