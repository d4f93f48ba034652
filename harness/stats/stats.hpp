// Summaries of samples. Pure functions; nothing here knows where numbers come from.
//
// Step times are skewed, have outliers and no known distribution, so everything is built on order
// statistics: nothing is assumed but that the samples come from one continuous distribution.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/base/metric.hpp"

namespace harness {

/// The middle value, or the mean of the two middle ones. Precondition: not empty, finite.
double median(std::span<const double> values);

/// Median with a distribution-free interval from order statistics (binomial). Without enough
/// samples for `confidence` (5 for 0.90, 6 for 0.95) the bounds are empty and the confidence is 0;
/// otherwise it is the achieved one. Precondition: not empty, finite, 0 < confidence < 1.
Interval median_interval(std::span<const double> values, double confidence = 0.95);

/// How many times faster `candidate` is than `base`, over pairs that follow one another: the median
/// of base[i] / candidate[i]; of up to five pairs the Hodges-Lehmann estimate, median of the means
/// of all pairs of logarithms, each with itself too (Hodges and Lehmann 1963). Of three it is
/// nearly as precise as the mean, where the median needs a third more of them; many are disturbed
/// in bursts, which the median withstands better. Precondition: as paired_speedup().
double paired_ratio(std::span<const double> base, std::span<const double> candidate);

/// How many times faster `candidate` is than `base`: the median of base[i] / candidate[i] over
/// pairs that were measured side by side, so that what slowed both cancels. Computed on logarithms,
/// so that swapping the sides gives exactly the inverse; bounds as those of median_interval().
/// Precondition: as many of each, at least one, all finite and above 0.
Interval paired_speedup(std::span<const double> base, std::span<const double> candidate,
                        double confidence = 0.95);

/// The same of ratios that units give which know nothing of each other: runs, or clusters, of which
/// each is the center of its rounds. Precondition: at least one, all finite and above 0.
Interval ratio_interval(std::span<const double> ratios, double confidence = 0.95);

/// Most values of a side that unpaired_shift() takes: as many as its exact distribution is computed
/// for.
inline constexpr std::size_t kMostUnpaired = 300;

/// How far `candidate` lies above `base` when nothing pairs them: the median of all differences
/// between one of each (Hodges and Lehmann), with bounds from the exact distribution of Mann and
/// Whitney's statistic. Assumes that the two distributions differ by a shift, and nothing of their
/// form; ties make the bounds wider than they need be. Without enough samples for `confidence` (4 a
/// side for 0.95) the bounds are empty. Precondition: neither empty, all finite,
/// at most kMostUnpaired each.
Interval unpaired_shift(std::span<const double> base, std::span<const double> candidate,
                        double confidence = 0.95);

/// The quartiles by order statistics, so both were really measured; as many values lie below the
/// one as above the other. Precondition: not empty, finite.
Quartiles quartiles(std::span<const double> values);

/// The p-quantile (0.5 < p < 1) by order statistics, or nothing when n is too small for it to
/// differ from the maximum by design: n * (1 - p) >= 5.
std::optional<double> tail_quantile(std::span<const double> values, double p);

/// MLPerf Training's score of a series of runs to a target: the fastest and the slowest dropped,
/// the mean of the rest. Empty entries are runs that missed the target; one of them counts as the
/// slowest. Nothing with fewer than three runs or more than one miss. Times finite.
std::optional<double> olympic_mean(const std::vector<std::optional<double>>& times);

/// The values of a metric that its summary is made of: finite, after the warm-up.
std::vector<double> summarised_values(const Metric& metric);

/// Fills `metric.summary` and `metric.warnings` from its samples, warm-up left out. Samples without
/// a value, or with one that is not finite, are counted in a warning and left out.
void summarise(Metric& metric);

}  // namespace harness
