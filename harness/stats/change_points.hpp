// Where a history of measurements changed its level.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/base/metric.hpp"

namespace harness {

/// Fewest values on each side of a change. Fewer would report chance.
inline constexpr std::size_t kChangeSide = 6;
/// Longest history that is looked through, as far as exact distributions are computed.
inline constexpr std::size_t kLongestHistory = 300;

struct ChangePoint {
  std::size_t index = 0;  ///< of the first value of the new level
  /// New level less old one, by unpaired_shift() over the values between the neighbouring changes.
  /// Its place was chosen because they differ, so the interval is a little narrow.
  Interval shift{};
};

/// The changes of level in `values`, in order. The values may have any distribution. Without a
/// change all orders of them have to be equally likely; slow drift breaks that and shows as a
/// change, too. `level` bounds the probability that a change is found where there is none. `least`
/// is the smallest shift worth reporting. Precondition: finite, at most kLongestHistory, 0 < level
/// < 1, least >= 0.
std::vector<ChangePoint> change_points(std::span<const double> values, double level,
                                       double least = 0);

}  // namespace harness
