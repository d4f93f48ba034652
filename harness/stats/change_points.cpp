#include "harness/stats/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "harness/stats/rank_sum.hpp"
#include "harness/stats/stats.hpp"

namespace harness {
namespace {

/// Pairs across a split in which the later value is smaller, larger, or the same.
struct Pairs {
  std::size_t smaller = 0;
  std::size_t larger = 0;
  std::size_t tied = 0;
};

Pairs pairs_across(std::span<const double> before, std::span<const double> after) {
  Pairs pairs;
  for (const double b : before) {
    for (const double a : after) {
      pairs.smaller += a < b ? 1 : 0;
      pairs.larger += a > b ? 1 : 0;
    }
  }
  pairs.tied = before.size() * after.size() - pairs.smaller - pairs.larger;
  return pairs;
}

/// |U - mean| in standard deviations, so that splits in the middle and near the ends compare.
double standardised(const Pairs& pairs, std::size_t n, std::size_t m) {
  const auto product = static_cast<double>(n) * static_cast<double>(m);
  const double distance =
      std::abs(static_cast<double>(pairs.smaller) - static_cast<double>(pairs.larger)) / 2;
  return distance / std::sqrt(product * static_cast<double>(n + m + 1) / 12);
}

// The split whose rank sums lie furthest apart (Pettitt 1979, standardised as by Hawkins and Deng
// 2010), tested against Mann and Whitney's exact distribution. As the split was picked among many,
// its level is divided by their number (Bonferroni): the smallest of their p-values is no larger
// than that of the picked one, so the bound holds whatever their dependence. Ties count against a
// change, so they only make it rarer.
std::optional<std::size_t> split_of(std::span<const double> values, double level) {
  const std::size_t n = values.size();
  if (n < 2 * kChangeSide) return std::nullopt;
  std::size_t best = 0;
  double furthest = 0;
  Pairs chosen;
  for (std::size_t k = kChangeSide; k + kChangeSide <= n; ++k) {
    const Pairs pairs = pairs_across(values.first(k), values.subspan(k));
    const double distance = standardised(pairs, k, n - k);
    if (distance <= furthest) continue;
    furthest = distance;
    best = k;
    chosen = pairs;
  }
  if (best == 0) return std::nullopt;
  const auto splits = static_cast<double>(n - 2 * kChangeSide + 1);
  const std::vector<double> tail = rank_sum_tail(best, n - best, level / splits / 2);
  const std::size_t observed = std::min(chosen.smaller, chosen.larger) + chosen.tied;
  return observed < tail.size() ? std::optional(best) : std::nullopt;
}

// Binary segmentation (Scott and Knott 1974; Vostrikova 1981): what lies on both sides of a change
// is looked through again, each with half of the level.
void find_splits(std::span<const double> values, std::size_t offset, double level,
                 std::vector<std::size_t>& splits) {
  const std::optional<std::size_t> split = split_of(values, level);
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
    const Interval shift = unpaired_shift(values.subspan(from, splits[i] - from),
                                          values.subspan(splits[i], to - splits[i]));
    if (std::abs(shift.center) < least) continue;
    changes.push_back({splits[i], shift});
    from = splits[i];
  }
  return changes;
}

}  // namespace harness
