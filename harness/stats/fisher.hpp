// Fisher's exact test of two counts.
#pragma once

#include <cstddef>

namespace harness {

/// How often something happened in so many trials.
struct EventCount {
  std::size_t events = 0;
  std::size_t trials = 0;
};

/// The probability that as many of all events as `second` has, or more, fall on it, where chance
/// alone deals them out to the trials of both: small where they are too many for chance.
/// Precondition: neither has more events than trials, at most 10,000 trials each.
double excess_by_chance(const EventCount& first, const EventCount& second);

}  // namespace harness
