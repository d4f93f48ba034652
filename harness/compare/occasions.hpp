// Which runs say one thing together, since they saw one state of the machine.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/compare/side.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Series that began within so many seconds of each other are of one occasion: two hours differ by
/// more than most changes bring, and runs within one hardly differ at all.
inline constexpr double kHourSeconds = 3600;
/// The same for a history, which has one value a night.
inline constexpr double kNightSeconds = 12 * 3600.0;

/// For each run the number of its occasion, from 0 in the order of their starts. All runs of a
/// series are of one, and with them those of all series that began less than `span` seconds after
/// the first series of the occasion did. A start that is no time counts as one moment.
std::vector<std::size_t> occasions_of(const std::vector<const Result*>& runs, double span);

/// The fewest hours a side that a change is judged by.
inline constexpr std::size_t kFewestHours = 6;

/// The fewest seeds a side that an exact interval of 95 % needs.
inline constexpr std::size_t kFewestSeeds = 4;

/// The hours of a side, as occasions_of() with kHourSeconds.
std::vector<std::size_t> hours_of(const Side& side);

/// For each run of a side the number of its seed: what a clock does not touch depends on that, and
/// on no hour.
std::vector<std::size_t> seeds_of(const Side& side);

/// How many of `occasions` there are.
std::size_t count_occasions(const std::vector<std::size_t>& occasions);

/// What the hours of a side consist of: "5 runs of 2 series in 1 hour".
std::string hours_text(const Side& side);

/// That all runs of one side began before all of the other, as a sentence: what else changed
/// between them is then taken for a difference of the sides. Empty where they interleave, and where
/// a side has fewer than kFewestHours, so that nothing is judged. Precondition: both have runs.
std::string apart_text(const Side& a, const Side& b);

/// The median of the values of each occasion, in their order. Precondition: as many of each.
std::vector<double> occasion_medians(const std::vector<std::size_t>& occasions,
                                     const std::vector<double>& values);

/// unpaired_shift(), without bounds where either side has fewer than `fewest` values.
Interval shift_of(std::span<const double> base, std::span<const double> candidate,
                  std::size_t fewest);

}  // namespace harness
