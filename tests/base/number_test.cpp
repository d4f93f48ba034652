// Numbers as people type them.
#include "harness/base/number.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "harness/base/error.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("whole numbers beyond 64 bits are told from what is none", "[number]") {
  CHECK(parse_clamped("-7") == -7);
  CHECK(parse_clamped("99999999999999999999") == std::numeric_limits<std::int64_t>::max());
  CHECK(parse_clamped("-99999999999999999999") == std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"", "1.5", "99999999999999999999x", "many", "- 1"}) {
    INFO(text);
    CHECK_FALSE(parse_clamped(text));
  }
}

TEST_CASE("numbers beyond a double are infinite, and words are none", "[number]") {
  CHECK(parse_unbounded("2.5") == 2.5);
  CHECK(parse_unbounded("1e999") == std::numeric_limits<double>::infinity());
  CHECK(parse_unbounded("-1e999") == -std::numeric_limits<double>::infinity());
  CHECK(std::abs(parse_unbounded("1e-999").value_or(1)) < 1e-300);
  for (const char* text : {"", "inf", "nan", "1e999x", "soon"}) {
    INFO(text);
    CHECK_FALSE(parse_unbounded(text));
  }
}

TEST_CASE("a number out of its bounds is told which one it broke", "[number]") {
  CHECK(integer_in("--runs 7", "7", 1, 1000) == 7);
  CHECK_THROWS_WITH(integer_in("--runs 0", "0", 1, 1000), "--runs 0: too small: at least 1");
  CHECK_THROWS_WITH(integer_in("--runs X", "99999999999999999999", 1, 1000),
                    "--runs X: too large: at most 1000");
  CHECK_THROWS_WITH(integer_in("--runs x", "x", 1, 1000),
                    "--runs x: not a whole number from 1 to 1000");
  CHECK(number_in("--pause 0.5", "0.5", 0, 10) == 0.5);
  CHECK_THROWS_WITH(number_in("--pause X", "1e999", 0, 10), "--pause X: too large: at most 10");
  CHECK_THROWS_WITH(number_in("--pause X", "-1e999", 0, 10), "--pause X: too small: at least 0");
  CHECK_THROWS_WITH(number_in("--pause X", "nan", 0, 10), "--pause X: not a number from 0 to 10");
  CHECK_THROWS_AS(in_range("x", 3.0, 0.0, 2.0), Error);
}
