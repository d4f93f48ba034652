// Whether series that train to a target converge alike: in how many epochs, to which quality.
#pragma once

#include <optional>
#include <vector>

#include "harness/compare/comparison.hpp"

namespace harness {

/// Epochs and time until `target` (the hardest of the sides' own when empty), and the quality after
/// the last epoch that all runs trained. A run that came to its end without the target counts as
/// slower than every one that reached it; where runs were stopped by a lower target of their own,
/// or had fewer epochs to go, the change is left out and a note says so. Differences, by
/// unpaired_shift().
std::vector<ComparedRow> convergence_rows(const std::vector<Side>& sides,
                                          std::optional<double> target);

}  // namespace harness
