// How training to a target went, epoch by epoch, as text.
#pragma once

#include <string>

#include "harness/result/result.hpp"

namespace harness {

/// A line for each epoch (of many, the first and the last ones) and one for the whole; empty for
/// runs of a number of steps.
std::string training_text(const Result& result);

/// Whether the lines above show that metric, so that a table of medians need not.
bool shown_by_epoch(const std::string& tag);

}  // namespace harness
