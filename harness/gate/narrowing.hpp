// How a campaign narrowed from cluster to cluster, for people to look at: no verdict comes from it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/gate/decision.hpp"
#include "harness/gate/report.hpp"

namespace harness {

/// What the first `n` pairs, or clusters, say by themselves.
struct NarrowingStep {
  std::size_t n = 0;
  Interval improvement{};  ///< 95 % for those `n` alone; without bounds below 6
};

/// Those before the first that is no number above 0.
std::vector<double> until_unusable(const std::vector<double>& improvements);

/// What all of them say. Preconditions: not empty, all finite and above 0. `exact`: from the least
/// to the greatest.
NarrowingStep narrowed(std::span<const double> improvements, bool exact);

/// After the first, the first two, and so on to all of them; after at most `most` of these counts.
/// Whoever looks as often as that is misled by 95 % sooner or later: what decides are the wider
/// intervals of the looks. Precondition: all finite and above 0.
std::vector<NarrowingStep> narrowing(std::span<const double> improvements, bool exact,
                                     std::size_t most = 200);

/// For each metric the looks that its verdict took, of those that the clusters reach. Preconditions
/// as for decide().
std::vector<std::vector<RowLook>> looks_taken(const std::vector<ClusterMetric>& metrics,
                                              const GatePlan& plan, const GateOptions& options);

}  // namespace harness
