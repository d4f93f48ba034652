// In place of driver.cpp where LoadGen's sources were not there.
#include "harness/base/error.hpp"
#include "harness/scenario/loadgen/driver.hpp"

namespace harness::loadgen {

std::string why_unavailable() {
  return "this build has no LoadGen: ./quickstart gets it, or -DHARNESS_LOADGEN=DIR names its "
         "sources";
}

std::string sources_sha256() { return {}; }

TestClock run_test(const TestPlan& plan, SystemUnderTest& /*system*/,
                   const std::filesystem::path& /*folder*/) {
  throw Error("scenario '" + std::string(plan.scenario) + "'", why_unavailable());
}

}  // namespace harness::loadgen
