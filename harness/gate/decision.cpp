#include "harness/gate/decision.hpp"

#include <algorithm>
#include <cmath>

#include "harness/stats/stats.hpp"

namespace harness {
namespace {

// A difference that a search has found looks larger than it is: of many looks the one that stood
// out was taken (the winner's curse). So pairs are looked at freely until every verdict seems
// clear, and then only fresh pairs, as many as fixed beforehand, decide. A confirmation that fails
// may be repeated once; both attempts and all metrics share the error between them (Bonferroni,
// which holds however the metrics hang together), so the campaign as a whole keeps its confidence.
constexpr std::size_t kAttempts = 2;
constexpr std::size_t kBlock = 2;         // pairs of an ABBA block
constexpr std::size_t kFirstLook = 6;     // the fewest pairs with a 95 % interval
constexpr double kConfirmingShare = 1.5;  // fresh pairs for each one that was explored

std::size_t whole_blocks(double pairs) {
  return kBlock * static_cast<std::size_t>(std::ceil(pairs / kBlock));
}

double shared_confidence(std::size_t metrics, std::size_t attempts, const GateOptions& options) {
  return 1 - (1 - options.confidence) / static_cast<double>(metrics * attempts);
}

bool usable(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value) && value > 0; });
}

// Over pairs first..last-1, by the sign test's interval of the median log-ratio: it assumes
// independent pairs and no form of their distribution, which in timings has long tails.
MetricDecision decide_stretch(const PairedMetric& metric, std::size_t first, std::size_t last,
                              double confidence) {
  MetricDecision decision{Verdict::kInconclusive, {}, first, last - first};
  if (decision.pairs == 0) return decision;
  const auto base = std::span(metric.base).subspan(first, last - first);
  const auto candidate = std::span(metric.candidate).subspan(first, last - first);
  if (!usable(base) || !usable(candidate)) return decision;
  const bool lower = metric.direction != Direction::kHigher;
  decision.improvement = lower ? paired_speedup(base, candidate, confidence)
                               : paired_speedup(candidate, base, confidence);
  decision.verdict = judge(decision.improvement, metric.margin);
  return decision;
}

std::vector<MetricDecision> decide_all(std::span<const PairedMetric> metrics, std::size_t first,
                                       std::size_t last, double confidence) {
  std::vector<MetricDecision> decisions;
  for (const PairedMetric& metric : metrics) {
    decisions.push_back(decide_stretch(metric, first, last, confidence));
  }
  return decisions;
}

bool all_clear(const std::vector<MetricDecision>& decisions) {
  return std::none_of(decisions.begin(), decisions.end(), [](const MetricDecision& decision) {
    return decision.verdict == Verdict::kInconclusive;
  });
}

}  // namespace

Verdict judge(const Interval& improvement, double margin) {
  if (!improvement.low || !improvement.high) return Verdict::kInconclusive;
  const double better = 1 + margin;
  const double worse = 1 / better;
  if (*improvement.high < worse) return Verdict::kRegressed;
  if (*improvement.low > better) return Verdict::kFaster;
  return *improvement.low >= worse && *improvement.high <= better ? Verdict::kSame
                                                                  : Verdict::kInconclusive;
}

std::size_t fewest_confirming_pairs(std::size_t metrics, const GateOptions& options) {
  const double error = 1 - shared_confidence(metrics, kAttempts, options);
  // The widest interval of n pairs misses with probability 2 / 2^n.
  return std::max(kFirstLook, whole_blocks(std::ceil(1 + std::log2(1 / error))));
}

CampaignDecision decide(std::span<const PairedMetric> metrics, const GateOptions& options) {
  const std::size_t there = metrics.front().base.size();
  const std::size_t fewest = fewest_confirming_pairs(metrics.size(), options);
  const double confirming = shared_confidence(metrics.size(), kAttempts, options);
  CampaignDecision decision;

  // Explore, with a quarter of the pairs at most: the rest is to confirm with.
  const std::size_t most_explored =
      std::max(kFirstLook, whole_blocks(static_cast<double>(options.most_pairs) / 4));
  std::size_t at = kFirstLook;
  bool clear = false;
  while (at <= there) {
    clear = all_clear(decide_all(metrics, 0, at, options.confidence));
    if (clear || at >= most_explored) break;
    at += kBlock;
  }
  if (at > there) {
    decision.pairs_wanted = at;
    decision.metrics = decide_all(metrics, 0, there, options.confidence);
    for (MetricDecision& metric : decision.metrics) metric.verdict = Verdict::kInconclusive;
    return decision;
  }

  // Confirm: twice at most, with what is left the second time. A search without an end leaves all.
  decision.confirming = true;
  decision.metrics.resize(metrics.size());
  for (std::size_t attempt = clear ? 1 : kAttempts; attempt <= kAttempts; ++attempt) {
    const std::size_t left =
        (options.most_pairs - std::min(at, options.most_pairs)) / kBlock * kBlock;
    const std::size_t wished =
        attempt < kAttempts
            ? std::max(fewest, whole_blocks(kConfirmingShare * static_cast<double>(at)))
            : left;
    const std::size_t wanted = std::min(wished, left);
    if (wanted < fewest) break;
    decision.pairs_wanted = at + wanted;
    const std::size_t last = std::min(there, at + wanted);
    const std::vector<MetricDecision> found = decide_all(metrics, at, last, confirming);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      MetricDecision& kept = decision.metrics[i];
      // What an earlier attempt made clear stands.
      if (kept.verdict != Verdict::kInconclusive) continue;
      kept = found[i];
      if (last < at + wanted) kept.verdict = Verdict::kInconclusive;
    }
    if (last < at + wanted) return decision;
    at = last;
    if (all_clear(decision.metrics)) break;
  }
  decision.finished = true;
  decision.pairs_wanted = at;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const bool sound = usable(std::span(metrics[i].base).first(at)) &&
                       usable(std::span(metrics[i].candidate).first(at));
    if (!sound) decision.metrics[i].verdict = Verdict::kInconclusive;
  }
  return decision;
}

MetricDecision decide_unpaired(const PairedMetric& series, std::size_t metrics,
                               const GateOptions& options) {
  MetricDecision decision;
  decision.pairs = std::min(series.base.size(), series.candidate.size());
  if (decision.pairs == 0 || !usable(series.base) || !usable(series.candidate)) return decision;
  std::vector<double> base;
  std::vector<double> candidate;
  for (const double value : series.base) base.push_back(std::log(value));
  for (const double value : series.candidate) candidate.push_back(std::log(value));
  const double confidence = shared_confidence(metrics, 1, options);
  const bool lower = series.direction != Direction::kHigher;
  decision.improvement = lower ? unpaired_shift(candidate, base, confidence)
                               : unpaired_shift(base, candidate, confidence);
  decision.improvement.center = std::exp(decision.improvement.center);
  for (auto* bound : {&decision.improvement.low, &decision.improvement.high}) {
    if (*bound) *bound = std::exp(**bound);
  }
  if (decision.pairs >= kFewestSeries) {
    decision.verdict = judge(decision.improvement, series.margin);
  }
  return decision;
}

}  // namespace harness
