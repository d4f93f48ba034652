#include "harness/base/peak_doubt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace harness {
namespace {

constexpr std::size_t kMinSamples = 5;
constexpr double kMaxSpread = 0.10;

}  // namespace

double relative_spread(std::span<const double> samples) {
  if (samples.empty()) return 0;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const auto quantile = [&](double p) {
    const double at = p * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
  };
  return (quantile(0.75) - quantile(0.25)) / quantile(0.5);
}

std::string peak_doubt(std::span<const double> samples) {
  if (samples.size() < kMinSamples) {
    return fmt::format("{} samples, at least {} are needed", samples.size(), kMinSamples);
  }
  const double spread = relative_spread(samples);
  if (!(spread <= kMaxSpread)) {
    return fmt::format("the samples spread by {:.1f} %, over {:.0f} %", 100 * spread,
                       100 * kMaxSpread);
  }
  return {};
}

}  // namespace harness
