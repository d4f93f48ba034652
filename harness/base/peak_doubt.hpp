// Whether bursts agree well enough to be a peak of the machine.
#pragma once

#include <span>
#include <string>

namespace harness {

/// (p75 - p25) / median of the samples, by linear interpolation. 0 for none.
double relative_spread(std::span<const double> samples);

/// Why these samples make no peak: fewer than 5, or a relative spread over 10 %. Empty when they
/// do.
std::string peak_doubt(std::span<const double> samples);

}  // namespace harness
