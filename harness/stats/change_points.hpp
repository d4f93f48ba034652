// Where a history of measurements changed its level.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace harness {

/// Fewest values on each side of a change. Fewer would report chance.
inline constexpr std::size_t kChangeSide = 6;
/// Longest history that is looked through, as far as the test's bounds are known.
inline constexpr std::size_t kLongestHistory = 300;
/// How much a night may resemble the one before without being taken for a change.
inline constexpr double kHistoryCorrelation = 0.9;

struct ChangePoint {
  std::size_t index = 0;  ///< of the first value of the new level
  /// New level less old one: the median of all differences across the change. Without an interval:
  /// those known assume that the values on each side are independent of each other.
  double shift = 0;
};

/// The changes of level in `values`, in order. Nights resemble their neighbours, so the values may
/// be autocorrelated: `level` bounds the probability that a change is found where there is none but
/// noise of that kind (of first order, correlation kHistoryCorrelation at most; that of the
/// recordings in tests/noise is 0.83 to 0.87). What is more alike, such as slow drift, shows as a
/// change. One value far from its neighbours is no level. `least` is the smallest shift worth
/// reporting. Precondition: finite, at most kLongestHistory, 0 < level < 1, least >= 0.
std::vector<ChangePoint> change_points(std::span<const double> values, double level,
                                       double least = 0);

}  // namespace harness
