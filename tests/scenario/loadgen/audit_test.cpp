// The compliance tests' rules, on answers and figures that keep them and on ones that do not.
#include "harness/scenario/loadgen/audit.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness::loadgen;  // NOLINT(google-build-using-namespace)

namespace {

std::string differing(const std::string& audit, const std::string& accuracy) {
  const harness::TemporaryFolder folder;
  std::ofstream(folder / "audit.json") << audit;
  std::ofstream(folder / "accuracy.json") << accuracy;
  return differing_answers(folder / "audit.json", folder / "accuracy.json");
}

const std::string kAll =
    R"([{"seq_id": 0, "qsl_idx": 7, "data": "00AA"}, {"seq_id": 1, "qsl_idx": 3, "data": "00BB"}])";

}  // namespace

TEST_CASE("answers that are logged while it is timed must be those of the accuracy test",
          "[loadgen]") {
  CHECK(differing(R"([{"seq_id": 9, "qsl_idx": 3, "data": "00BB"}])", kAll).empty());
  CHECK_FALSE(differing(R"([{"seq_id": 9, "qsl_idx": 3, "data": "00AA"}])", kAll).empty());
  CHECK_FALSE(differing(R"([{"seq_id": 9, "qsl_idx": 4, "data": "00BB"}])", kAll).empty());
  CHECK_FALSE(differing("[]", kAll).empty());
  CHECK_THROWS_AS(differing("[{", kAll), harness::Error);
}

TEST_CASE("TEST01 may not differ in speed, TEST04 not be faster, by more than is allowed",
          "[loadgen]") {
  CHECK(differing_speed("TEST01", 100, 91, false).empty());
  CHECK_FALSE(differing_speed("TEST01", 100, 89, false).empty());
  CHECK_FALSE(differing_speed("TEST01", 100, 111, false).empty());
  CHECK(differing_speed("TEST04", 100, 109, false).empty());
  CHECK(differing_speed("TEST04", 100, 20, false).empty());
  CHECK_FALSE(differing_speed("TEST04", 100, 111, false).empty());
  // Of latencies the smaller one is the faster, and a fifth is allowed.
  CHECK(differing_speed("TEST01", 1e-3, 1.2e-3, true).empty());
  CHECK_FALSE(differing_speed("TEST01", 1e-3, 1.3e-3, true).empty());
  CHECK(differing_speed("TEST04", 1e-3, 0.85e-3, true).empty());
  CHECK_FALSE(differing_speed("TEST04", 1e-3, 0.8e-3, true).empty());
  CHECK_FALSE(differing_speed("TEST04", 0, 1e-3, false).empty());
}
