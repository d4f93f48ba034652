// Whether series that train to a target converge alike: in how many epochs, to which quality.
#pragma once

#include <optional>
#include <vector>

#include "harness/report/comparison.hpp"

namespace harness {

/// A run that came to its end without reaching its target.
bool missed_target(const Result& run);

/// Epochs and time until the target, and the quality after the last epoch that all runs trained.
/// Every run counts: one that misses the target has one epoch more than it trained, which is the
/// least it can have needed. Differences, by unpaired_shift().
std::vector<ComparedRow> convergence_rows(const std::vector<Side>& sides,
                                          std::optional<double> target);

}  // namespace harness
