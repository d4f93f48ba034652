#include "harness/system/affinity.hpp"

#include <catch2/catch.hpp>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/system/topology.hpp"
#include "tests/support/fake_machine.hpp"
#include "tests/support/refusal.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("CPU lists are read and written", "[affinity]") {
  CHECK(parse_cpu_list("0") == std::vector<int>{0});
  CHECK(parse_cpu_list("8,0-3") == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(format_cpu_list({0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(format_cpu_list({}).empty());
  CHECK(parse_cpu_list(format_cpu_list({1, 3, 5, 6})) == std::vector<int>{1, 3, 5, 6});
}

TEST_CASE("a bad CPU list is one clear error", "[affinity]") {
  const std::pair<std::string, std::string> cases[] = {{"", "empty"},
                                                       {" ", "empty"},
                                                       {"a", "neither"},
                                                       {"0,", "neither"},
                                                       {"-1", "neither"},
                                                       {"1-", "neither"},
                                                       {"1-2-3", "neither"},
                                                       {"3-1", "backwards"},
                                                       {"0-99999999999", "beyond CPU 8191"},
                                                       {"8192", "beyond"},
                                                       {"0,0", "named twice"},
                                                       {"0-3,2", "named twice"},
                                                       {"0;1", "neither"},
                                                       {"0x1", "neither"},
                                                       {"99999999999999999999", "beyond CPU 8191"},
                                                       {"1 2", "neither"},
                                                       {std::string(100000, '1'), "too long"}};
  for (const auto& [text, why] : cases) {
    INFO(text.substr(0, 20));
    CHECK(refusal_of([&, &list = text] { parse_cpu_list(list); }).names(why));
  }
}

TEST_CASE("affinity is applied, and refused as a whole when a CPU is not there", "[affinity]") {
  // In a thread of its own: the binding is per thread and the other tests keep theirs.
  std::thread([] {
    const std::vector<int> before = allowed_cpus();
    REQUIRE_FALSE(before.empty());
    apply_affinity({before.front()});
    CHECK(allowed_cpus() == std::vector<int>{before.front()});
    CHECK(refusal_of([&] { apply_affinity({before.front(), 8190}); }).names("CPU 8190"));
    CHECK(allowed_cpus() == std::vector<int>{before.front()});
    CHECK_THROWS_AS(apply_affinity({8190, 8191}), Error);
    CHECK_THROWS_AS(apply_affinity({}), Error);
    CHECK_THROWS_AS(apply_affinity({-1}), Error);
    apply_affinity(before);
    CHECK(allowed_cpus() == before);
  }).join();
}

TEST_CASE("usable CPUs are what mask and quota leave", "[affinity]") {
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);
  const UsableCpus limited = usable_cpus(machine.root());
  CHECK(limited.quota == 1.5);
  CHECK(limited.count == 1);
  CHECK(limited.physical_cores == 1);
  machine.file("/sys/fs/cgroup/runner/job/cpu.max", "10000 100000\n");
  CHECK(usable_cpus(machine.root()).count == 1);
  machine.remove("/sys/fs/cgroup");
  CHECK(usable_cpus(machine.root()).count == static_cast<int>(allowed_cpus().size()));
}

TEST_CASE("SMT siblings are one core, and come last", "[affinity]") {
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);
  const Topology topology = read_topology(machine.root());
  CHECK(topology.cores == 2);
  CHECK(count_cores(topology, {0, 2}) == 1);
  CHECK(count_cores(topology, {0, 1, 2, 3}) == 2);
  CHECK(count_cores(topology, {0, 77}) == 2);
  CHECK(cores_first(topology, {0, 2, 1, 3}) == std::vector<int>{0, 1, 2, 3});
  CHECK(count_cores(read_topology(SystemRoot("/nonexistent")), {0, 1}) == 2);
}

TEST_CASE("CPUs are shared among ranks, those of a core together", "[affinity]") {
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);  // CPUs 0 and 2 are one core, 1 and 3 the other
  using Shares = std::vector<std::vector<int>>;
  CHECK(share_cpus({0, 1, 2, 3}, 1, machine.root()) == Shares{{0, 1, 2, 3}});
  CHECK(share_cpus({0, 1, 2, 3}, 2, machine.root()) == Shares{{0, 2}, {1, 3}});
  CHECK(share_cpus({0, 1, 2, 3}, 3, machine.root()) == Shares{{0}, {2}, {1, 3}});
  CHECK(share_cpus({0, 1, 2, 3}, 4, machine.root()) == Shares{{0}, {2}, {1}, {3}});
  CHECK(share_cpus({1, 3}, 3, machine.root()) == Shares{{1}, {3}, {1}});
}
