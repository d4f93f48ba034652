// Many samples as few points, and what they are drawn with.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/report/thinning.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

std::vector<Sample> samples_of(const std::vector<double>& values, std::int64_t warmup = 0) {
  std::vector<Sample> samples;
  std::int64_t step = 0;
  for (const double value : values) {
    ++step;
    samples.push_back({step, step <= warmup, value, ""});
  }
  return samples;
}

}  // namespace

TEST_CASE("a million samples are a few hundred points with every outlier", "[report]") {
  std::vector<double> values(1000000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<double>(i) / 1e4);
  }
  values[500001] = 40;
  values[700003] = -40;
  const ThinSamples thinned = thin(samples_of(values, 1000));
  CHECK(thinned.total == values.size());
  CHECK(thinned.warmup_until == 1000);
  CHECK(thinned.kept.size() <= kMostPoints);
  CHECK(thinned.kept.size() > kMostPoints / 2);
  CHECK(thinned.kept.front().step == 1);
  CHECK(thinned.kept.back().step == 1000000);
  const auto has = [&](double value) {
    return std::any_of(thinned.kept.begin(), thinned.kept.end(),
                       [&](const Sample& sample) { return *sample.value == value; });
  };
  CHECK(has(40));
  CHECK(has(-40));
  CHECK(std::is_sorted(thinned.kept.begin(), thinned.kept.end(),
                       [](const Sample& a, const Sample& b) { return a.step < b.step; }));
}

TEST_CASE("few samples stay as they are, without what no plot can bear", "[report]") {
  std::vector<Sample> samples = samples_of({1, 1e308, 3, -1e308, 5});
  samples.push_back({6, false, std::nullopt, "not finite"});
  const ThinSamples thinned = thin(samples);
  REQUIRE(thinned.kept.size() == 3);
  CHECK(*thinned.kept[1].value == 3);
  CHECK(thinned.unplotted == 3);
  CHECK(thin({}).kept.empty());
  CHECK(plotted(std::numeric_limits<double>::denorm_min()) == 0);
  CHECK(plotted(1.0 / 3) == 0.3333333);
  CHECK(plotted(-2.5e99) == -2.5e99);
}

TEST_CASE("a histogram counts every sample after the warm-up once", "[report]") {
  std::vector<double> values;
  for (int i = 0; i < 500; ++i) values.push_back(std::fmod(i * 0.618, 1.0));
  const Histogram histogram = histogram_of(samples_of(values, 100));
  CHECK(std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::size_t{0}) == 400);
  CHECK(histogram.edges.size() == histogram.counts.size() + 1);
  CHECK(histogram.counts.size() > 3);
  CHECK(histogram.counts.size() <= 40);
  CHECK(histogram_of({}).edges.empty());
  CHECK(histogram_of(samples_of({7, 7, 7})).counts == std::vector<std::size_t>{3});
  const Histogram extreme = histogram_of(samples_of({1e308, 1, 2, 3, 1e99}));
  CHECK(std::accumulate(extreme.counts.begin(), extreme.counts.end(), std::size_t{0}) == 4);
  CHECK(std::all_of(extreme.edges.begin(), extreme.edges.end(),
                    [](double edge) { return std::isfinite(edge); }));
}

TEST_CASE("axes have the unit that fits their numbers", "[report]") {
  CHECK(plot_unit(8.2, "s").label == "s");
  CHECK(plot_unit(0.05, "s").label == "ms");
  CHECK(plot_unit(0.05, "s").factor == 1e3);
  CHECK(plot_unit(2e-6, "s").label == "us");
  CHECK(plot_unit(400, "s").label == "min");
  CHECK(plot_unit(3e9, "B").label == "GiB");
  CHECK(plot_unit(3e9, "B").factor == Approx(1.0 / (1 << 30)));
  CHECK(plot_unit(2e3, "B").label == "KiB");
  CHECK(plot_unit(2.3e11, "FLOP/s").label == "GFLOP/s");
  CHECK(plot_unit(0.7, "1").label.empty());
  CHECK(plot_unit(5, "samples/s").label == "samples/s");
}
