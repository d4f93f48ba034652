// Which kernel a table names, from the times of all candidates.
#include "harness/measure/tuning_session.hpp"

#include <catch2/catch.hpp>

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("the fastest kernel is taken, but not for a difference that noise makes", "[tuning]") {
  CHECK(choose_kernel({{"a", 1.0}, {"b", 0.5}}, "a") == "b");
  CHECK(choose_kernel({{"a", 1.0}, {"b", 0.99}}, "a") == "a");
  CHECK(choose_kernel({{"a", 1.0}, {"b", 1.0 / 1.03}}, "a") == "b");
  CHECK(choose_kernel({{"a", 1.0}, {"b", 0.5}, {"c", 0.4}}, "b") == "c");
  CHECK(choose_kernel({{"b", 1.0}}, "a") == "b");
  CHECK(choose_kernel({{"a", 1.0}}, "a") == "a");
}
