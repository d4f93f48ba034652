// The gate's decision: from measured pairs, or from the series of two sides, to a verdict.
//
// All numbers are improvements: how many times better the candidate is than the baseline, in the
// metric's own direction. Above 1 is better; 1 / 1.05 is 5 % more time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/base/metric.hpp"

namespace harness {

enum class Verdict {
  kSame,          ///< the whole interval lies within the margin
  kFaster,        ///< the whole interval lies beyond the margin, on the better side
  kRegressed,     ///< the whole interval lies beyond the margin, on the worse side
  kInconclusive,  ///< the interval crosses a margin, or there is none
};

/// `margin` above 0: a change by less than this share is of no interest; 0.015 reaches from
/// 1 / 1.015 to 1.015.
Verdict judge(const Interval& improvement, double margin);

struct GateOptions {
  double confidence = 0.95;     ///< that no metric of the campaign gets a wrong verdict
  std::size_t most_pairs = 96;  ///< of one campaign, all stages together
};

/// One gated metric. `base[i]` and `candidate[i]` were measured side by side, pair after pair.
struct PairedMetric {
  std::vector<double> base{};
  std::vector<double> candidate{};
  Direction direction = Direction::kLower;
  double margin = 0.015;
};

struct MetricDecision {
  Verdict verdict = Verdict::kInconclusive;
  Interval improvement{};
  std::size_t first = 0;  ///< the interval rests on the pairs from this one (0-based) on,
  std::size_t pairs = 0;  ///< so many
};

struct CampaignDecision {
  bool finished = false;
  bool confirming = false;       ///< the pairs to come are fresh ones, for the verdict
  std::size_t pairs_wanted = 0;  ///< in all, until there is more to say; when finished those used
  std::vector<MetricDecision> metrics{};
};

/// The decision after the pairs so far. It depends on them alone, so a campaign can be judged again
/// from its files. Every other pair runs the candidate first (ABBA). Looks are taken at even
/// numbers of pairs, so both orders weigh the same. A value that is not finite or not above 0 makes
/// its metric inconclusive for good. Precondition: at least one metric, equally many pairs of each,
/// margins above 0.
CampaignDecision decide(std::span<const PairedMetric> metrics, const GateOptions& options = {});

/// The fewest fresh pairs that can confirm anything for this many metrics.
std::size_t fewest_confirming_pairs(std::size_t metrics, const GateOptions& options = {});

/// The fewest series a side that unpaired numbers are judged by.
inline constexpr std::size_t kFewestSeries = 6;

/// Verdict for unpaired numbers, one of each series. `metrics` of them share the confidence.
/// Inconclusive below kFewestSeries a side. Precondition as for unpaired_shift().
MetricDecision decide_unpaired(const PairedMetric& series, std::size_t metrics,
                               const GateOptions& options = {});

}  // namespace harness
