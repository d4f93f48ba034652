// What more ranks would make of a step, against sums by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "harness/base/error.hpp"
#include "harness/profile/communication.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// Over two ranks a ring takes two messages and sends each byte once: 1 ms and 1 GB/s.
Network plain_network() { return {{{1, 0.002}, {1e6, 0.002 + 1e-3}, {1e8, 0.002 + 0.1}}, 2}; }

}  // namespace

TEST_CASE("a network gives back what was timed on it", "[communication]") {
  const Network network = plain_network();
  CHECK(network.latency() == Approx(0.001));
  CHECK(network.bandwidth() == Approx(1e9));
  for (const double bytes : {1e6, 3e7, 1e8, 1e9}) {
    CHECK(network.seconds(SumAlgorithm::kRing, bytes, 2) == Approx(0.002 + bytes / 1e9));
  }
  // A world of four was timed: the same network behind it.
  const Network of_four({{1, 0.006}, {1e6, 0.006 + 1.5e-3}, {1e8, 0.006 + 0.15}}, 4);
  CHECK(of_four.latency() == Approx(0.001));
  CHECK(of_four.bandwidth() == Approx(1e9));
  CHECK(of_four.seconds(SumAlgorithm::kRing, 1e7, 2) ==
        Approx(network.seconds(SumAlgorithm::kRing, 1e7, 2)));
}

TEST_CASE("rings pay for each rank in messages, trees for each doubling", "[communication]") {
  const Network network = plain_network();
  CHECK(network.seconds(SumAlgorithm::kRing, 1e8, 1024) ==
        Approx(2 * 1023 * 0.001 + 2 * 1023.0 / 1024 * 0.1));
  CHECK(network.seconds(SumAlgorithm::kTree, 1e8, 1024) == Approx(20 * 0.001 + 0.2));
  CHECK(network.seconds(SumAlgorithm::kTree, 1e8, 1000) == Approx(20 * 0.001 + 0.2));
  CHECK(network.seconds(SumAlgorithm::kRing, 1e8, 1) == 0);
  CHECK(network.seconds(SumAlgorithm::kRing, 0, 8) == 0);
}

TEST_CASE("bandwidth between two sizes lies between theirs", "[communication]") {
  // 1 GB/s at 1 MB, 2 GB/s at 100 MB.
  const Network network({{1, 0.002}, {1e6, 0.003}, {1e8, 0.052}}, 2);
  CHECK(network.seconds(SumAlgorithm::kRing, 1e7, 2) == Approx(0.002 + 1e7 / 1.5e9));
  CHECK(network.seconds(SumAlgorithm::kRing, 1e3, 2) == Approx(0.002 + 1e3 / 1e9));
  CHECK(network.seconds(SumAlgorithm::kRing, 1e9, 2) == Approx(0.002 + 1e9 / 2e9));
  // A larger sum that chance made faster than the smallest is left out.
  const Network by_chance({{1, 0.002}, {1e3, 0.0019}, {1e8, 0.102}}, 2);
  CHECK(by_chance.seconds(SumAlgorithm::kRing, 1e8, 2) == Approx(0.102));
}

TEST_CASE("networks that tell nothing are refused", "[communication]") {
  CHECK_THROWS_AS(Network({}, 2), Error);
  CHECK_THROWS_AS(Network({{1, 0.1}}, 2), Error);
  CHECK_THROWS_AS(Network({{1, 0.1}, {1, 0.2}}, 2), Error);
  CHECK_THROWS_AS(Network({{1, 0.1}, {2, 0.2}}, 1), Error);
  CHECK_THROWS_AS(Network({{0, 0.1}, {2, 0.2}}, 2), Error);
  CHECK_THROWS_AS(Network({{1, 0.1}, {2, 0}}, 2), Error);
  CHECK_THROWS_AS(Network({{1, 0.1}, {2, NAN}}, 2), Error);
  CHECK_THROWS_AS(Network({{1e6, 0.1}, {1e7, 0.2}}, 2), Error);  // no latency
  CHECK_THROWS_AS(Network({{1, 0.2}, {2, 0.1}}, 2), Error);      // the larger is the faster one
}

TEST_CASE("what the backward pass does not hide is waited for", "[communication]") {
  const Network network = plain_network();
  const auto exposed = [&](std::vector<GradientBucket> gradients) {
    const RankStep step{3, 2, std::move(gradients)};
    const WorldStep world = world_step(step, network, SumAlgorithm::kRing, 2);
    CHECK(world.seconds == Approx(3 + world.exposed));
    CHECK(world.efficiency == Approx(3 / world.seconds));
    return world.exposed;
  };
  CHECK(exposed({}) == 0);
  CHECK(exposed({{1e8, 0.5}}) == 0);                      // over long before the end
  CHECK(exposed({{1e8, 1}}) == Approx(0.102));            // begins at the end
  CHECK(exposed({{1e8, 0.96}}) == Approx(0.022));         // half of it is hidden
  CHECK(exposed({{1e9, 0}, {1e9, 0}}) == Approx(0.004));  // one after the other
  CHECK(exposed({{1e9, 0.9}, {1e8, 1}}) == Approx(1.8 + 1.002 + 0.102 - 2));
}

TEST_CASE("efficiency falls with the world, and worlds are listed by doubling", "[communication]") {
  CHECK(worlds_up_to(2) == std::vector<std::int64_t>{2});
  CHECK(worlds_up_to(3) == std::vector<std::int64_t>{2, 3});
  CHECK(worlds_up_to(64) == std::vector<std::int64_t>{2, 4, 8, 16, 32, 64});
  CHECK(worlds_up_to(65'536).size() == 16);
  const RankStep step{0.3, 0.2, {{8e6, 0.7}, {8e6, 1}}};
  for (const SumAlgorithm algorithm : {SumAlgorithm::kRing, SumAlgorithm::kTree}) {
    double before = 1;
    for (const std::int64_t ranks : worlds_up_to(4096)) {
      const WorldStep world = world_step(step, plain_network(), algorithm, ranks);
      CHECK(world.efficiency <= before);
      CHECK(world.under_way >= world.exposed);
      before = world.efficiency;
    }
  }
}
