// What a run's machine makes of its result.
#include "harness/check/judgement.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("other processes make a run mistrusted, but not a side in lockstep", "[check]") {
  const nlohmann::json before = {{"cpus_counted", 2},
                                 {"cpu_busy_seconds", 1000},
                                 {"own_cpu_seconds", 1},
                                 {"monotonic_seconds", 50}};
  nlohmann::json after = before;
  after["monotonic_seconds"] = 150;
  after["cpu_busy_seconds"] = 1190;  // of 200 s on 2 CPUs, 100 of them its own
  after["own_cpu_seconds"] = 101;
  // Without the sample's own findings.
  Result alone = sample_result();
  alone.status = {};
  alone.environment_before = before;
  alone.environment_after = after;
  Result resident = alone;
  resident.rules.lockstep = true;
  judge_machine(alone);
  judge_machine(resident);
  CHECK(alone.status.mistrusted);
  CHECK(alone.status.mistrust_reasons ==
        std::vector<std::string>{"other processes took 45 % of the CPU time during the run"});
  CHECK_FALSE(resident.status.mistrusted);
}
