// How two series go together.
#pragma once

#include <vector>

namespace harness::workloads {

/// Pearson's correlation of two series of one length, -1 to 1; NaN where one is constant.
double pearson(const std::vector<double>& a, const std::vector<double>& b);

/// Spearman's: Pearson's of the ranks, where equal values share the mean of theirs.
double spearman(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace harness::workloads
