// The excess of one outcome over another: exact errors over all counts.
#include "harness/stats/excess.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// P(so many worse, so many better) of n trials.
double probability(const OutcomeCounts& counts, double worse, double better) {
  const auto n = static_cast<double>(counts.n);
  const auto w = static_cast<double>(counts.worse);
  const auto b = static_cast<double>(counts.better);
  const auto power = [](double base, double exponent) {
    return exponent == 0 ? 0.0 : exponent * std::log(base);
  };
  return std::exp(std::lgamma(n + 1) - std::lgamma(w + 1) - std::lgamma(b + 1) -
                  std::lgamma(n - w - b + 1) + power(worse, w) + power(better, b) +
                  power(1 - worse - better, n - w - b));
}

/// All counts of `n` trials.
std::vector<OutcomeCounts> all_counts(std::size_t n) {
  std::vector<OutcomeCounts> all;
  for (std::size_t worse = 0; worse <= n; ++worse) {
    for (std::size_t better = 0; better + worse <= n; ++better) all.push_back({n, worse, better});
  }
  return all;
}

}  // namespace

TEST_CASE("an excess at the limit is hardly ever called below it", "[stats][excess]") {
  for (const std::size_t n : {std::size_t{10}, std::size_t{16}, std::size_t{24}, std::size_t{46}}) {
    for (const double limit : {0.05, 0.2, 0.5}) {
      for (const double error : {0.05, 0.014, 0.002}) {
        std::vector<OutcomeCounts> below;
        for (const OutcomeCounts& counts : all_counts(n)) {
          if (excess_below(counts, limit, error)) below.push_back(counts);
        }
        // However often either comes: worse is `limit` more likely than better.
        double most = 0;
        for (int step = 0; step <= 400; ++step) {
          const double better = (1 - limit) / 2 * step / 400;
          double sum = 0;
          for (const OutcomeCounts& counts : below) {
            sum += probability(counts, better + limit, better);
          }
          most = std::max(most, sum);
        }
        CAPTURE(n, limit, error, most);
        CHECK(most <= error);
      }
    }
  }
}

TEST_CASE("no excess is found soon enough to be of use", "[stats][excess]") {
  // 0.8^13 is above 0.05: nobody can tell sooner.
  CHECK_FALSE(excess_below({13, 0, 0}, 0.2, 0.05));
  CHECK(excess_below({20, 0, 0}, 0.2, 0.05));
  CHECK(excess_below({40, 1, 0}, 0.2, 0.05));
  // As many one way as the other, in a quarter of all trials.
  CHECK(excess_below({96, 12, 12}, 0.2, 0.02));
  // One start of three.
  CHECK_FALSE(excess_below({48, 16, 0}, 0.2, 0.05));
  CHECK_FALSE(excess_below({48, 18, 2}, 0.2, 0.05));
  CHECK_FALSE(excess_below({0, 0, 0}, 0.2, 0.05));
  // Not all of them is below all of them.
  CHECK(excess_below({20, 5, 0}, 1, 0.05));
  CHECK_FALSE(excess_below({20, 20, 0}, 1, 0.05));
}

TEST_CASE("more of the worse, or less of the better, never speaks for less", "[stats][excess]") {
  for (const std::size_t n : {std::size_t{8}, std::size_t{30}}) {
    for (const OutcomeCounts& counts : all_counts(n)) {
      if (!excess_below(counts, 0.2, 0.05)) continue;
      CAPTURE(n, counts.worse, counts.better);
      if (counts.worse > 0) CHECK(excess_below({n, counts.worse - 1, counts.better}, 0.2, 0.05));
      if (counts.worse > 0) {
        CHECK(excess_below({n, counts.worse - 1, counts.better + 1}, 0.2, 0.05));
      }
    }
  }
}

TEST_CASE("the bound is where the test changes its mind", "[stats][excess]") {
  for (const OutcomeCounts& counts :
       {OutcomeCounts{20, 0, 0}, OutcomeCounts{20, 5, 1}, OutcomeCounts{60, 0, 9},
        OutcomeCounts{96, 20, 21}, OutcomeCounts{48, 16, 0}}) {
    for (const double error : {0.05, 0.01}) {
      const double bound = excess_bound(counts, error);
      CAPTURE(counts.n, counts.worse, counts.better, error, bound);
      const double seen = (static_cast<double>(counts.worse) - static_cast<double>(counts.better)) /
                          static_cast<double>(counts.n);
      CHECK(bound > seen);
      CHECK(bound <= 1);
      CHECK(excess_below(counts, bound, error));
      if (bound > 0.01) CHECK_FALSE(excess_below(counts, bound - 0.002, error));
    }
  }
  CHECK(excess_bound({20, 20, 0}, 0.05) == 1);
  CHECK(excess_bound({0, 0, 0}, 0.05) == 1);
  CHECK(excess_bound({20, 0, 20}, 0.05) < 0.01);
  CHECK(excess_bound({1000, 0, 0}, 0.05) < 0.01);
}
