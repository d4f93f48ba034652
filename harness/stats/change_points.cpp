#include "harness/stats/change_points.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "harness/stats/stats.hpp"

namespace harness {
namespace {

/// What the test's statistic of a history without a change exceeds with these probabilities.
constexpr std::array kLevels = {0.05,   0.02,   0.01,   0.005,   0.002,   0.001,
                                0.0005, 0.0002, 0.0001, 0.00005, 0.00002, 0.00001};

struct Bounds {
  std::size_t length = 0;
  std::array<double, kLevels.size()> bounds{};
};

// Of two million histories of each length, in each of which a night and the one before correlate by
// kHistoryCorrelation (Gaussian). Less correlation makes the statistic smaller.
constexpr std::array<Bounds, 11> kBounds = {{
    {12, {10.3, 13.6, 16.6, 20.0, 25.4, 30.5, 36.6, 46.8, 57.6, 70.0, 86.0, 102.3}},
    {13, {12.1, 15.7, 18.7, 22.2, 27.7, 32.7, 38.5, 48.0, 56.5, 68.1, 81.3, 99.7}},
    {14, {12.9, 16.5, 19.5, 22.8, 27.9, 32.4, 37.7, 45.9, 54.6, 61.8, 75.9, 85.6}},
    {16, {13.7, 17.2, 20.0, 23.0, 27.3, 31.1, 35.3, 41.9, 48.5, 54.5, 64.5, 73.8}},
    {20, {14.0, 17.3, 19.8, 22.4, 26.0, 29.0, 32.2, 37.1, 40.9, 44.5, 50.3, 54.2}},
    {30, {13.5, 16.6, 19.0, 21.4, 24.5, 27.0, 29.5, 33.2, 36.0, 39.0, 44.2, 48.2}},
    {40, {13.0, 16.0, 18.3, 20.7, 23.8, 26.3, 28.8, 32.1, 34.6, 37.3, 41.0, 43.8}},
    {60, {11.9, 14.8, 17.0, 19.3, 22.2, 24.5, 26.8, 30.0, 32.5, 34.9, 38.3, 39.9}},
    {100, {10.3, 12.9, 14.8, 16.7, 19.4, 21.4, 23.5, 26.2, 28.4, 30.9, 34.5, 38.3}},
    {160, {9.0, 11.2, 12.8, 14.5, 16.7, 18.5, 20.2, 22.5, 24.3, 26.6, 29.4, 31.7}},
    {300, {7.8, 9.5, 10.9, 12.2, 13.9, 15.3, 16.7, 18.6, 20.0, 21.2, 23.0, 25.2}},
}};

/// The bound at `level` of histories of `length` values; empty where none is known. Between two
/// lengths the larger of their bounds.
std::optional<double> bound_of(std::size_t length, double level) {
  const auto at =
      std::find_if(kLevels.begin(), kLevels.end(), [&](double known) { return known <= level; });
  if (at == kLevels.end()) return std::nullopt;
  const auto column = static_cast<std::size_t>(at - kLevels.begin());
  const auto above = std::find_if(kBounds.begin(), kBounds.end(),
                                  [&](const Bounds& row) { return row.length >= length; });
  if (above == kBounds.end()) return std::nullopt;
  const double bound = above->bounds[column];
  if (above->length == length || above == kBounds.begin()) return bound;
  return std::max(bound, std::prev(above)->bounds[column]);
}

/// Each value as the middle one of itself and its neighbours, which leaves every change of level
/// where it is and takes away a night that was far off.
std::vector<double> without_outliers(std::span<const double> values) {
  std::vector<double> middle(values.begin(), values.end());
  for (std::size_t i = 1; i + 1 < values.size(); ++i) {
    const auto [low, high] = std::minmax(values[i - 1], values[i]);
    middle[i] = std::max(low, std::min(high, values[i + 1]));
  }
  middle.front() = middle[1];
  middle.back() = middle[middle.size() - 2];
  return middle;
}

/// Sums over the first values of a history, or the last ones, each less the mean of all.
struct Sums {
  double values = 0;
  double squares = 0;   ///< of all sums until here
  double weighted = 0;  ///< all sums until here, by their number of values
  double weights = 0;   ///< squared

  /// How far the sums until here stray from a straight line: the noise of this side, however its
  /// values depend on each other.
  double straying(double count) const {
    const double slope = values / count;
    return squares - 2 * slope * weighted + slope * slope * weights;
  }
};

std::vector<Sums> sums_of(const std::vector<double>& values) {
  std::vector<Sums> all(values.size() + 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Sums& before = all[i];
    const auto count = static_cast<double>(i + 1);
    const double sum = before.values + values[i];
    all[i + 1] = {sum, before.squares + sum * sum, before.weighted + count * sum,
                  before.weights + count * count};
  }
  return all;
}

// The step between two sides of a split against the noise within them, which is taken from how far
// the sums on each side stray (Shao and Zhang 2010). Noise in which nights resemble each other
// strays further, and so excuses itself: no correlation has to be estimated. The largest over all
// splits is held against its distribution in a history without a change.
std::optional<std::size_t> split_of(std::span<const double> values, double level) {
  const std::size_t n = values.size();
  if (n < 2 * kChangeSide) return std::nullopt;
  const std::optional<double> bound = bound_of(n, level);
  if (!bound) return std::nullopt;
  std::vector<double> centred = without_outliers(values);
  // The first value goes before the mean does: equal values then leave exactly nothing.
  const double first = centred.front();
  double total = 0;
  for (double& value : centred) total += value -= first;
  for (double& value : centred) value -= total / static_cast<double>(n);
  const std::vector<Sums> forward = sums_of(centred);
  std::reverse(centred.begin(), centred.end());
  const std::vector<Sums> backward = sums_of(centred);
  bool found = false;
  std::size_t best = 0;
  double furthest = 0;
  for (std::size_t k = kChangeSide; k + kChangeSide <= n; ++k) {
    const auto before = static_cast<double>(k);
    const auto after = static_cast<double>(n - k);
    const double step = std::abs(forward[k].values);
    const double noise =
        std::max(0.0, forward[k].straying(before) + backward[n - k].straying(after));
    found = found || step * std::sqrt(before + after) > *bound * std::sqrt(noise);
    // Where it changed is another question: the split that leaves the smallest squares.
    const double distance = step / std::sqrt(before * after);
    if (distance <= furthest) continue;
    furthest = distance;
    best = k;
  }
  return found ? std::optional(best) : std::nullopt;
}

/// The first split of the whole, its overlapping halves and quarters that is beyond chance: in the
/// whole a second change would count as noise. They share the level: what is looked through in so
/// many parts has so many chances.
std::optional<std::size_t> split_of_parts(std::span<const double> values, double level) {
  struct Layer {
    std::size_t parts = 1;  ///< windows of this share of all values, each half over the next
    double share = 1;
  };
  constexpr std::size_t kLeast = 2 * kChangeSide;
  std::vector<Layer> layers = {{1, 1}};
  if (values.size() >= 2 * kLeast) layers = {{1, 0.5}, {2, 0.5}};
  if (values.size() >= 4 * kLeast) layers = {{1, 0.4}, {2, 0.4}, {4, 0.2}};
  for (const Layer& layer : layers) {
    const std::size_t length = values.size() / layer.parts;
    const std::size_t windows = 2 * layer.parts - 1;
    for (std::size_t i = 0; i < windows; ++i) {
      const std::size_t from = windows == 1 ? 0 : i * (values.size() - length) / (windows - 1);
      const auto split = split_of(values.subspan(from, length),
                                  level * layer.share / static_cast<double>(windows));
      if (split) return from + *split;
    }
  }
  return std::nullopt;
}

// Binary segmentation (Scott and Knott 1974; Vostrikova 1981): what lies on both sides of a change
// is looked through again, each with half of the level.
void find_splits(std::span<const double> values, std::size_t offset, double level,
                 std::vector<std::size_t>& splits) {
  const std::optional<std::size_t> split = split_of_parts(values, level);
  if (!split) return;
  find_splits(values.first(*split), offset, level / 2, splits);
  splits.push_back(offset + *split);
  find_splits(values.subspan(*split), offset + *split, level / 2, splits);
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> values, double level, double least) {
  if (!(level > 0 && level < 1) || !(least >= 0)) {
    throw std::invalid_argument("change points: level out of (0, 1) or a negative shift");
  }
  if (values.size() > kLongestHistory) {
    throw std::invalid_argument("change points: more values than are looked through");
  }
  std::vector<std::size_t> splits;
  find_splits(values, 0, level, splits);
  // A level that hardly differs from the one before belongs to it; the next is then compared with
  // both together.
  std::vector<ChangePoint> changes;
  std::size_t from = 0;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    const std::size_t to = i + 1 < splits.size() ? splits[i + 1] : values.size();
    const double shift = unpaired_shift(values.subspan(from, splits[i] - from),
                                        values.subspan(splits[i], to - splits[i]))
                             .center;
    if (std::abs(shift) < least) continue;
    changes.push_back({splits[i], shift});
    from = splits[i];
  }
  return changes;
}

}  // namespace harness
