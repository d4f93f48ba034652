#include "harness/result/loadgen_report.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace harness {
namespace {

// With early stopping LoadGen's estimate of a percentile is the official figure of the streams.
constexpr std::array kFigures = {
    FigureOfScenario{"single-stream", "latency.p90", "s", "early_stopping_latency_ss", 1e-9},
    FigureOfScenario{"multi-stream", "latency.p99", "s", "early_stopping_latency_ms", 1e-9},
    FigureOfScenario{"server", "throughput.server", "samples/s", "result_completed_samples_per_sec",
                     1},
    FigureOfScenario{"offline", "throughput.offline", "samples/s", "result_samples_per_second", 1},
};

}  // namespace

void LatencyHistogram::add(double seconds) {
  const double bin = std::floor(std::log10(seconds / kLowest) * kPerDecade);
  // Not a number compares as neither: it counts in the first bin.
  const double last = kBins - 1;
  ++counts_[bin >= last ? kBins - 1 : bin > 0 ? static_cast<std::size_t>(bin) : 0];
}

std::int64_t LatencyHistogram::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

Direction direction_of(const LoadGenFigure& figure) {
  return figure.unit == "s" ? Direction::kLower : Direction::kHigher;
}

const FigureOfScenario* figure_of_scenario(std::string_view scenario) {
  const auto found =
      std::find_if(kFigures.begin(), kFigures.end(),
                   [&](const FigureOfScenario& known) { return known.scenario == scenario; });
  return found == kFigures.end() ? nullptr : &*found;
}

}  // namespace harness
