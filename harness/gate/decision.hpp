// The gate's decision: from measured clusters, or from the hours of two sides, to a verdict.
//
// All numbers are improvements: how many times better the candidate is than the baseline, in the
// metric's own direction. Above 1 is better; 1 / 1.05 is 5 % more time. A cluster is what was
// measured side by side between two starts of both sides: rounds in lockstep, or a pair of whole
// commands. Clusters are independent of each other, and nothing else is.
//
// What can be wrong, and how often, over all looks and nights of one plan together:
// - A false alarm: `alarm` (5 %) at most that any metric is called regressed or faster that is not.
//   Bonferroni shares it among the metrics and their three tests (slower, faster, slow in some
//   starts), since then the intervals of all metrics hold at once, and those are what a report
//   shows; Holm's procedure would add power only where one metric has regressed already.
// - A false "same": `same` (5 %) at most that a candidate whose median is worse, or better, by the
//   margin exactly is called the same; less beyond it, and less again where several metrics have
//   to be the same. It is the intersection-union test of both bounds of all metrics, so each takes
//   the whole of it. The same holds for a candidate that is slow in one start of five.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/base/metric.hpp"
#include "harness/gate/plan.hpp"

namespace harness {

enum class Verdict {
  kSame,          ///< surely within the margin, and not slow in some starts
  kFaster,        ///< the whole interval lies beyond the margin, on the better side
  kRegressed,     ///< the whole interval lies beyond it on the worse side, or slow in some starts
  kInconclusive,  ///< the interval crosses a margin, or there is none
};

/// `margin` above 0: a change by less than this share is of no interest; 0.015 reaches from
/// 1 / 1.015 to 1.015.
Verdict judge(const Interval& improvement, double margin);

struct GateOptions {
  double alarm = 0.05;             ///< error of "regressed" and "faster", all metrics together
  double same = 0.05;              ///< error of "same"
  std::size_t most_clusters = 96;  ///< of one night
};

/// One gated metric: one improvement a cluster, in their order. The caller pairs the sides within
/// the cluster, so that what slowed both cancels.
struct ClusterMetric {
  std::vector<double> improvements{};
  double margin = 0.015;
  /// The same in every run of one program (bytes, FLOPs): no test, and none of the error. The
  /// clusters have to agree.
  bool exact = false;
  /// Looked at for alarms alone: no campaign goes on to call it the same.
  bool alarm_only = false;
};

/// A cluster is slow when the candidate was worse in it by more than so many margins, and fast when
/// it was better by more than that.
inline constexpr int kSlowMargins = 4;
/// "Same" needs a share of slow clusters, less that of fast ones, that is surely below this.
inline constexpr double kSlowShare = 0.2;

struct MetricDecision {
  Verdict verdict = Verdict::kInconclusive;
  Interval improvement{};    ///< of the median; decides "regressed" and "faster"
  Interval same{};           ///< narrower: two bounds of `same` error each; decides "same"
  std::size_t clusters = 0;  ///< that all of this rests on, from the first on
  bool slow_starts = false;  ///< regressed since it is slow in some starts
  std::size_t slow = 0;      ///< clusters
  std::size_t fast = 0;
  double slow_error = 0;  ///< of the bound that "same" puts on the excess of slow ones; 0: no bound
};

struct CampaignDecision {
  bool finished = false;
  std::size_t clusters = 0;  ///< used; of an unfinished campaign those of its next look
  std::vector<MetricDecision> metrics{};
};

/// The decision after the clusters so far. It depends on them and the plan alone, so a campaign can
/// be judged again. What a look made clear stands, but for a metric that a later look, taken for
/// the others' sake, finds regressed. A campaign is finished at the look where all metrics are
/// clear; clusters behind it have no part. A value that is not finite or not above 0 makes its
/// metric inconclusive for good.
///
/// Tests of one look, on all clusters up to it:
/// - the median, by the signs of the clusters against the margin (sign_looks);
/// - slow starts, by clusters slower than four margins against those faster than two: no more of
///   the first where the noise is symmetric about a median within the margin, so fair signs again
///   (against clusters faster than the margin it would take twice as many to find them);
/// - for "same", how much more often clusters are slow than fast (excess_below).
///
/// Precondition: at least one metric, equally many clusters of each, margins above 0. Throws as
/// looks_of().
CampaignDecision decide(std::span<const ClusterMetric> metrics, const GatePlan& plan,
                        const GateOptions& options = {});

/// The fewest clusters of a first night, in the blocks of `plan`, that can give each of the
/// verdicts with so many metrics that are not exact.
std::size_t fewest_clusters(std::size_t metrics, const GatePlan& plan = {},
                            const GateOptions& options = {});

/// One metric of two sides that nothing pairs: a number of each hour.
struct UnpairedMetric {
  std::vector<double> base{};
  std::vector<double> candidate{};
  Direction direction = Direction::kLower;
  double margin = 0.015;
};

/// Verdict for unpaired numbers. `metrics` of them share the error `alarm`, of all verdicts.
/// Inconclusive below kFewestHours a side. Precondition as for unpaired_shift().
MetricDecision decide_unpaired(const UnpairedMetric& series, std::size_t metrics,
                               const GateOptions& options = {});

}  // namespace harness
