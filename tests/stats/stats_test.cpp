#include "harness/stats/stats.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

std::vector<double> ramp(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  std::shuffle(values.begin(), values.end(), std::mt19937(7));
  return values;
}

Metric metric_of(const std::vector<double>& values, const char* unit = "s") {
  Metric metric{"m", unit, Direction::kLower, "", {}, {}, {}};
  std::int64_t step = 0;
  for (const double value : values) metric.samples.push_back({++step, false, value, ""});
  summarise(metric);
  return metric;
}

}  // namespace

TEST_CASE("the median is the middle", "[stats]") {
  CHECK(median(std::vector<double>{3, 1, 2}) == 2);
  CHECK(median(std::vector<double>{4, 1, 2, 3}) == 2.5);
  const double huge = std::numeric_limits<double>::max();
  CHECK(median(std::vector<double>{huge, huge}) == huge);
  CHECK_THROWS_AS(median(std::vector<double>{}), std::invalid_argument);
  CHECK_THROWS_AS(median(std::vector<double>{1, std::nan("")}), std::invalid_argument);
}

// Ranks and coverages as in any table of the sign-test interval (e.g. Conover, table A3).
TEST_CASE("the interval takes the tabled ranks", "[stats]") {
  struct Row {
    int n;
    double asked;
    double low;
    double high;
    double achieved;
  };
  for (const Row& row :
       {Row{6, 0.95, 1, 6, 0.96875}, Row{5, 0.90, 1, 5, 0.9375}, Row{8, 0.95, 1, 8, 0.9921875},
        Row{9, 0.95, 2, 8, 0.9609375}, Row{10, 0.95, 2, 9, 0.978515625},
        Row{20, 0.95, 6, 15, 0.9586105347}, Row{100, 0.95, 40, 61, 0.96479980}}) {
    const Interval interval = median_interval(ramp(row.n), row.asked);
    CHECK(interval.low == row.low);
    CHECK(interval.high == row.high);
    CHECK(interval.confidence == Approx(row.achieved).epsilon(1e-7));
    CHECK(interval.confidence >= row.asked);
  }
}

TEST_CASE("too few samples give no interval", "[stats]") {
  for (const auto& [n, asked] : {std::pair{5, 0.95}, {4, 0.90}, {1, 0.5001}, {7, 0.99}}) {
    const Interval interval = median_interval(ramp(n), asked);
    CHECK_FALSE(interval.low);
    CHECK_FALSE(interval.high);
    CHECK(interval.confidence == 0);
  }
  CHECK(median_interval(ramp(1000000)).confidence == Approx(0.95).epsilon(1e-3));
}

TEST_CASE("the interval covers the true median as often as it says", "[stats]") {
  std::mt19937 random(42);
  std::lognormal_distribution<double> skewed(0, 1);  // median 1
  for (const int n : {6, 11, 30}) {
    int covered = 0;
    double claimed = 0;
    constexpr int kRounds = 4000;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> values(static_cast<std::size_t>(n));
      for (double& value : values) value = skewed(random);
      const Interval interval = median_interval(values);
      claimed = interval.confidence;
      covered += interval.low.value_or(2) <= 1 && 1 <= interval.high.value_or(0) ? 1 : 0;
    }
    // Four standard errors of a proportion near 0.96 at 4000 rounds are 0.0124.
    CHECK(covered / double{kRounds} == Approx(claimed).margin(0.0124));
  }
}

TEST_CASE("a paired speed-up is the median ratio, and its inverse the other way round", "[stats]") {
  // Both are slowed alike from pair to pair; each pair alone says 2, but for one outlier.
  const std::vector<double> base = {2, 4, 6, 8, 1000, 12, 14};
  const std::vector<double> candidate = {1, 2, 3, 4, 5, 6, 7};
  const Interval speedup = paired_speedup(base, candidate);
  CHECK(speedup.center == Approx(2));
  CHECK(*speedup.low == Approx(2));
  CHECK(*speedup.high == Approx(200));
  CHECK(speedup.confidence == median_interval(base).confidence);
  const Interval slowdown = paired_speedup(candidate, base);
  CHECK(slowdown.center == Approx(1 / speedup.center).epsilon(1e-14));
  CHECK(*slowdown.low == Approx(1 / *speedup.high).epsilon(1e-14));
  CHECK(*slowdown.high == Approx(1 / *speedup.low).epsilon(1e-14));
  // An even number of pairs: the geometric mean of the middle two, 1 and 4.
  CHECK(paired_speedup(std::vector<double>{1, 8}, std::vector<double>{1, 2}).center == Approx(2));
  CHECK(paired_speedup(base, base).center == 1);
}

TEST_CASE("the ratio of few pairs is the middle of the means of them all", "[stats]") {
  const std::vector<double> ones(6, 1);
  const auto ratio = [&](const std::vector<double>& base) {
    return paired_ratio(base, std::span(ones).first(base.size()));
  };
  CHECK(ratio({4}) == Approx(4));
  CHECK(ratio({1, 4}) == Approx(2));  // on logarithms
  // Of three it is a quarter of the outer ones each, and half of the one between.
  CHECK(std::log(ratio({1, 2, 16})) == Approx((std::log(1) + 2 * std::log(2) + std::log(16)) / 4));
  CHECK(ratio({1, 1, 1, 1, 100}) == Approx(1));
  CHECK(ratio({1, 1, 1, 2, 2, 2}) == Approx(std::sqrt(2)));  // of more the median
  const std::vector<double> base = {1.1, 0.9, 1.3};
  const std::vector<double> other = {1.0, 1.2, 0.8};
  CHECK(paired_ratio(base, other) * paired_ratio(other, base) == Approx(1));
  CHECK_THROWS_AS(ratio({}), std::invalid_argument);
  CHECK_THROWS_AS(ratio({1, 0}), std::invalid_argument);
}

TEST_CASE("five pairs give a speed-up without an interval, no pairs nothing", "[stats]") {
  const std::vector<double> five = {1, 2, 3, 4, 5};
  CHECK_FALSE(paired_speedup(five, five).low);
  CHECK(paired_speedup(five, five).confidence == 0);
  CHECK_THROWS_AS(paired_speedup({}, {}), std::invalid_argument);
  CHECK_THROWS_AS(paired_speedup(five, std::vector<double>{1, 2}), std::invalid_argument);
  CHECK_THROWS_AS(paired_speedup(std::vector<double>{0}, std::vector<double>{1}),
                  std::invalid_argument);
  CHECK_THROWS_AS(paired_speedup(std::vector<double>{1}, std::vector<double>{std::nan("")}),
                  std::invalid_argument);
}

TEST_CASE("tail quantiles appear where n supports them", "[stats]") {
  CHECK_FALSE(tail_quantile(ramp(49), 0.9));
  CHECK(tail_quantile(ramp(50), 0.9) == 45);
  CHECK(tail_quantile(ramp(100), 0.9) == 90);
  CHECK_FALSE(tail_quantile(ramp(499), 0.99));
  CHECK(tail_quantile(ramp(500), 0.99) == 495);
  CHECK(tail_quantile(ramp(1001), 0.99) == 991);
}

TEST_CASE("a summary leaves the warm-up out and warns in words", "[stats]") {
  Metric metric{"m", "s", Direction::kLower, "", {}, {}, {}};
  metric.samples = {{1, true, 100.0, ""},
                    {2, false, 1.0, ""},
                    {3, false, 3.0, ""},
                    {4, false, std::nullopt, "not a number"},
                    {5, false, 2.0, ""}};
  metric.warnings = {"stale"};
  summarise(metric);
  CHECK(metric.summary.n == 3);
  CHECK(metric.summary.median->center == 2);
  CHECK(metric.summary.min == 1);
  CHECK(metric.summary.max == 3);
  CHECK_FALSE(metric.summary.p90);
  REQUIRE(metric.warnings.size() == 1);
  CHECK_THAT(metric.warnings[0], Catch::Contains("1 of 4 samples are not finite"));
}

TEST_CASE("a summary tells the spread, and promises nothing", "[stats]") {
  const Metric metric = metric_of(ramp(20));
  CHECK(metric.summary.median->center == 10.5);
  CHECK_FALSE(metric.summary.median->low);
  CHECK_FALSE(metric.summary.median->high);
  CHECK(metric.summary.median->confidence == 0);
  REQUIRE(metric.summary.quartiles);
  CHECK(metric.summary.quartiles->low == 5);
  CHECK(metric.summary.quartiles->high == 16);
}

TEST_CASE("at least half of all values lie within the quartiles, as many on each side", "[stats]") {
  for (std::size_t n = 1; n <= 40; ++n) {
    const std::vector<double> values = ramp(static_cast<int>(n));
    const Quartiles middle = quartiles(values);
    const auto below = std::count_if(values.begin(), values.end(),
                                     [&](double value) { return value < middle.low; });
    const auto above = std::count_if(values.begin(), values.end(),
                                     [&](double value) { return value > middle.high; });
    CAPTURE(n, below, above);
    CHECK(below == above);
    CHECK(4 * below <= static_cast<std::ptrdiff_t>(n));
    CHECK(4 * (below + 1) >= static_cast<std::ptrdiff_t>(n));
  }
  CHECK_THROWS_AS(quartiles({}), std::invalid_argument);
}

TEST_CASE("a metric without samples has an empty summary", "[stats]") {
  const Metric metric = metric_of({});
  CHECK(metric.summary.n == 0);
  CHECK_FALSE(metric.summary.median);
  REQUIRE(metric.warnings.size() == 1);
  CHECK_THAT(metric.warnings[0], Catch::Contains("nothing to summarise"));
}

TEST_CASE("drift is named where it is clear, and only there", "[stats]") {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(1, 0.05);
  std::vector<double> steady(60);
  for (double& value : steady) value = noise(random);
  CHECK(metric_of(steady).warnings.empty());
  std::vector<double> throttled = steady;
  for (std::size_t i = 30; i < throttled.size(); ++i) throttled[i] *= 1.2;
  REQUIRE(metric_of(throttled).warnings.size() == 1);
  CHECK_THAT(metric_of(throttled).warnings[0], Catch::Contains("second half is higher"));
  CHECK(metric_of(throttled, "1").warnings.empty());  // a loss is meant to move
  std::vector<double> slight = steady;
  for (std::size_t i = 0; i < slight.size(); ++i) slight[i] = 1 + 1e-4 * static_cast<double>(i);
  CHECK(metric_of(slight).warnings.empty());  // sure, but too small to matter
}

TEST_CASE("the score of a series leaves out its fastest and its slowest run", "[stats]") {
  const std::optional<double> missed;
  CHECK(olympic_mean({5, 1, 3, 2, 4}) == 3);
  CHECK(olympic_mean({10, 1, 3}) == 3);
  CHECK(olympic_mean({5, 1, 3, missed, 4}) == 4);  // the miss is the slowest, 1 the fastest
  CHECK_FALSE(olympic_mean({5, missed, 3, missed, 4}));
  CHECK_FALSE(olympic_mean({5, 1}));
  CHECK_FALSE(olympic_mean({}));
}
