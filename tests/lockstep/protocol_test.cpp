// The lines of the lockstep protocol: what is said is understood, and nothing else is.
#include "harness/lockstep/protocol.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "harness/lockstep/order.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("what a side says is understood as it was meant", "[lockstep]") {
  SideHello hello{"a peer", "query", 2, true, true, {{"threads", 2}}};
  const SideHello heard = parse_hello(hello_line(hello));
  CHECK(heard.name == "a peer");
  CHECK(heard.unit == "query");
  CHECK(heard.settle == 2);
  CHECK(heard.slices);
  CHECK(heard.leaves_out_stops);
  CHECK(heard.setup.at("threads") == 2);
  const SideHello least = parse_hello(R"({"lockstep": 1, "name": "x", "unit": "step"})");
  CHECK(least.settle == 0);
  CHECK_FALSE(least.slices);
  CHECK_FALSE(least.leaves_out_stops);

  TurnAnswer answer;
  answer.seconds = {0.1, 1.0 / 3};
  answer.losses = {{"total", {2.5, std::nullopt}}};
  answer.phases = {{"forward", {0.05, 0.1}}};
  const TurnAnswer told = parse_answer(answer_line(answer), 2);
  CHECK(told.seconds == answer.seconds);  // to the last bit
  CHECK(told.losses == answer.losses);
  CHECK(told.phases == answer.phases);
  CHECK(told.diverged());
  // What went wrong at the second of five steps leaves two.
  CHECK(parse_answer(answer_line(answer), 5).seconds.size() == 2);

  for (const OrderKind kind : {OrderKind::kStep, OrderKind::kEvaluate, OrderKind::kFinish}) {
    CHECK(parse_order(order_line({kind, 3})).kind == kind);
  }
  CHECK(parse_order(order_line({OrderKind::kStep, 3})).count == 3);
  CHECK(parse_order(R"({"do": "step"})").count == 1);

  Quality quality;
  quality.metric = "mAP";
  quality.value = 0.5;
  CHECK(parse_quality(quality_line(quality))->value == 0.5);
  quality.value.reset();
  CHECK(parse_quality(quality_line(quality))->metric == "mAP");
  CHECK_FALSE(parse_quality(quality_line(std::nullopt)).has_value());
}

TEST_CASE("an answer has a phase for each pass of a workload of many blocks", "[lockstep]") {
  TurnAnswer answer{{1.8}, {}, {}};
  for (int block = 0; block < 333; ++block) {
    for (const char* pass : {".forward", ".backward-data", ".backward-weights"}) {
      answer.phases["block." + std::to_string(block) + pass] = {0.002};
    }
  }
  CHECK(parse_answer(answer_line(answer), 1).phases == answer.phases);
  answer.phases["one"] = answer.phases["too many"] = {0.002};
  CHECK_THROWS_AS(parse_answer(answer_line(answer), 1), ProtocolError);
}

TEST_CASE("a line that is not what it should be is refused", "[lockstep]") {
  const std::vector<std::string> no_hello = {
      "",
      "ready",
      "[]",
      "{}",
      "null",
      R"({"lockstep": 2, "name": "a", "unit": "step"})",
      R"({"lockstep": 1, "unit": "step"})",
      R"({"lockstep": 1, "name": "", "unit": "step"})",
      R"({"lockstep": 1, "name": 1, "unit": "step"})",
      R"({"lockstep": 1, "name": "a", "unit": "epoch"})",
      R"({"lockstep": 1, "name": "a", "unit": "step", "settle": -1})",
      R"({"lockstep": 1, "name": "a", "unit": "step", "settle": 1.5})",
      R"({"lockstep": 1, "name": "a", "unit": "step", "setup": 1})",
      R"({"lockstep": 1, "name": "a", "unit": "step", "setle": 1})",
      R"({"lockstep": 1, "name": "a", "unit": "step"} more)",
      R"({"error": "no data"})",
      R"({"error": 1})"};
  for (const std::string& line : no_hello) {
    INFO(line);
    CHECK_THROWS_AS(parse_hello(line), ProtocolError);
  }
  const std::vector<std::string> no_answer = {R"({"seconds": []})",
                                              R"({"seconds": [1, 2]})",
                                              R"({"seconds": [-0.1]})",
                                              R"({"seconds": [0]})",
                                              R"({"seconds": [null]})",
                                              R"({"seconds": ["1"]})",
                                              R"({"seconds": [1e6]})",
                                              R"({"seconds": [1e999]})",
                                              R"({"seconds": [NaN]})",
                                              R"({"seconds": 1})",
                                              R"({"times": [1]})",
                                              R"({"seconds": [1], "seconds": [1]})",
                                              R"({"seconds": [1], "losses": {"a": [1, 2]}})",
                                              R"({"seconds": [1], "losses": [1]})",
                                              R"({"seconds": [1], "losses": {"a": ["x"]}})",
                                              R"({"seconds": [1], "phases": {"a": [-1]}})",
                                              R"({"seconds": [1)",
                                              R"({"error": "died"})"};
  for (const std::string& line : no_answer) {
    INFO(line);
    CHECK_THROWS_AS(parse_answer(line, 1), ProtocolError);
  }
  // Fewer steps than asked for need a reason.
  CHECK_THROWS_AS(parse_answer(R"({"seconds": [1]})", 2), ProtocolError);
  CHECK_THROWS_AS(parse_answer(R"({"seconds": [1], "losses": {"a": [1]}})", 2), ProtocolError);
  for (const char* line : {R"({"do": "run"})", R"({"do": "step", "count": 0})", R"({"count": 1})",
                           R"({"do": "step", "count": 1000000})", R"({"do": "finish", "x": 1})"}) {
    INFO(line);
    CHECK_THROWS_AS(parse_order(line), ProtocolError);
  }
  for (const char* line : {R"({})", R"({"quality": 0.5})", R"({"quality": {"value": 1}})",
                           R"({"quality": {"metric": "a", "value": "b"}})"}) {
    INFO(line);
    CHECK_THROWS_AS(parse_quality(line), ProtocolError);
  }
}

TEST_CASE("a side's own reason is handed on", "[lockstep]") {
  try {
    parse_hello(error_line("no pictures in data/"));
    FAIL("an error is no hello");
  } catch (const ProtocolError& error) {
    CHECK_THAT(error.what(), Catch::Contains("no pictures in data/"));
  }
}

TEST_CASE("each side has each place, and each neighbour, equally often", "[lockstep]") {
  for (std::size_t sides = 1; sides <= 9; ++sides) {
    const std::int64_t rounds = rounds_of_balance(sides);
    std::vector<std::vector<int>> places(sides, std::vector<int>(sides));
    std::vector<std::vector<int>> follows(sides, std::vector<int>(sides));
    for (std::int64_t round = 1; round <= rounds; ++round) {
      const std::vector<std::size_t> order = balanced_order(round, sides);
      REQUIRE(order.size() == sides);
      for (std::size_t place = 0; place < sides; ++place) {
        ++places[order[place]][place];
        if (place > 0) ++follows[order[place - 1]][order[place]];
      }
      CHECK(balanced_order(round + rounds, sides) == order);
    }
    const int each = static_cast<int>(rounds) / static_cast<int>(sides);
    for (std::size_t i = 0; i < sides; ++i) {
      for (std::size_t j = 0; j < sides; ++j) {
        CHECK(places[i][j] == each);
        CHECK(follows[i][j] == (i == j ? 0 : each));
      }
    }
  }
  CHECK(balanced_order(1, 2) == std::vector<std::size_t>{0, 1});
  CHECK(balanced_order(2, 2) == std::vector<std::size_t>{1, 0});
}

TEST_CASE("over the clusters together no order comes twice more than another", "[lockstep]") {
  for (std::size_t sides = 2; sides <= 9; ++sides) {
    for (std::int64_t rounds = 1; rounds <= 20; ++rounds) {
      CAPTURE(sides, rounds);
      std::map<std::vector<std::size_t>, int> times;
      for (std::int64_t row = 1; row <= rounds_of_balance(sides); ++row) {
        times[balanced_order(row, sides)] = 0;
      }
      REQUIRE(std::ssize(times) == rounds_of_balance(sides));
      for (std::int64_t cluster = 1; cluster <= 7; ++cluster) {
        const std::int64_t before = rounds_before(cluster, rounds, sides);
        for (std::int64_t round = 1; round <= rounds; ++round) {
          ++times[balanced_order(before + round, sides)];
        }
        const auto [least, most] =
            std::minmax_element(times.begin(), times.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; });
        CHECK(most->second - least->second <= 1);
        // Nor do two clusters that follow each other begin with the same one.
        CHECK(balanced_order(before + 1, sides) !=
              balanced_order(rounds_before(cluster + 1, rounds, sides) + 1, sides));
      }
    }
  }
}
