// The search for a server's highest rate, against servers whose limit is known.
#include "harness/scenario/loadgen/rate_search.hpp"

#include <catch2/catch.hpp>

using harness::loadgen::highest_rate;
using harness::loadgen::rate_factor;

TEST_CASE("the rate that is found is held, and a tenth more is not", "[loadgen]") {
  for (const double limit : {0.02, 0.3, 0.69, 0.71, 1.0, 3.7, 40.0}) {
    int trials = 0;
    const double found = highest_rate(100, [&](double rate) {
      ++trials;
      return rate <= 100 * limit;
    });
    CAPTURE(limit);
    CHECK(found <= 100 * limit);
    CHECK(found * 1.1 > 100 * limit);
    CHECK(trials < 40);
  }
}

TEST_CASE("the search ends where no rate is held, and where every one is", "[loadgen]") {
  CHECK(highest_rate(100, [](double) { return false; }) == 0);
  CHECK(highest_rate(100, [](double) { return true; }) > 100 * 10);
}

TEST_CASE("a rate that misses once is tried again", "[loadgen]") {
  int trials = 0;
  // Every fifth trial of a server that holds 300 meets a busy machine.
  const double found = highest_rate(100, [&](double rate) {
    ++trials;
    return rate <= 300 && trials % 5 != 0;
  });
  CHECK(found <= 300);
  CHECK(found * 1.1 > 300);
}

TEST_CASE("a rate that whole tests do not hold is lowered ever more, and then no further",
          "[loadgen]") {
  double before = 1;
  std::size_t attempt = 0;
  for (; rate_factor(attempt); ++attempt) {
    const double factor = *rate_factor(attempt);
    CHECK((factor > 0 && factor <= before && factor < 1));
    before = factor;
  }
  CHECK(attempt == 6);
}
