#include "harness/stats/stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "harness/stats/rank_sum.hpp"

namespace harness {
namespace {

constexpr double kConfidence = 0.95;
// Fewest values above a reported quantile; below that it is the maximum under another name.
constexpr double kTailCount = 5;
// Fewest samples in each half before drift is looked for: those a 95 % interval needs.
constexpr std::size_t kDriftHalf = 6;
// A shift this small is not worth a word, however sure it is.
constexpr double kDriftRatio = 0.02;
// n * (1 - p) for p = 0.9, n = 50 comes out just below 5 in floating point.
constexpr double kCountSlack = 1e-9;

std::vector<double> sorted_copy(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("statistics of no values");
  std::vector<double> sorted(values.begin(), values.end());
  if (!std::all_of(sorted.begin(), sorted.end(), [](double x) { return std::isfinite(x); })) {
    throw std::invalid_argument("statistics of a value that is not finite");
  }
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  // Halved before they are added: the sum of two huge values must not overflow.
  return n % 2 == 1 ? sorted[n / 2] : sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2;
}

// The number of samples below the median is binomial(n, 1/2) for any continuous distribution, so
// [x(k), x(n+1-k)] misses it with probability 2 P(B <= k-1). The largest k that keeps this at or
// below 1 - confidence gives the shortest such interval; ties only raise the coverage.
// David & Nagaraja, Order Statistics, 3rd ed., section 7.1.
Interval interval_of_sorted(const std::vector<double>& sorted, double confidence) {
  Interval interval;
  interval.center = median_of_sorted(sorted);
  const auto n = static_cast<double>(sorted.size());
  const boost::math::binomial_distribution<double> below(n, 0.5);
  const double tail = (1 - confidence) / 2;
  if (boost::math::cdf(below, 0.0) > tail) return interval;
  // The quantile is the start only: how it rounds is the library's policy, the comparison is ours.
  double misses = std::floor(boost::math::quantile(below, tail));
  while (misses > 0 && boost::math::cdf(below, misses) > tail) --misses;
  while (boost::math::cdf(below, misses + 1) <= tail) ++misses;
  const auto k = static_cast<std::size_t>(misses);  // 0-based index of the lower bound
  interval.low = sorted[k];
  interval.high = sorted[sorted.size() - 1 - k];
  interval.confidence = 1 - 2 * boost::math::cdf(below, misses);
  return interval;
}

Quartiles quartiles_of_sorted(const std::vector<double>& sorted) {
  const std::size_t below = (sorted.size() - 1) / 4;
  return {sorted[below], sorted[sorted.size() - 1 - below]};
}

std::optional<double> tail_of_sorted(const std::vector<double>& sorted, double p) {
  const auto n = static_cast<double>(sorted.size());
  if (n * (1 - p) < kTailCount - kCountSlack) return std::nullopt;
  // The smallest value that at least a fraction p of all samples does not exceed: always one that
  // was really measured.
  const auto rank = static_cast<std::size_t>(std::ceil(n * p - kCountSlack));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

// Speaks only where the intervals of both halves lie apart, which chance does far more rarely than
// one time in twenty, and only of measured quantities: a loss is meant to move.
std::optional<std::string> drift_warning(const Metric& metric, const std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  if (metric.unit == "1" || half < kDriftHalf) return std::nullopt;
  const std::span<const double> all(values);
  const Interval first = median_interval(all.first(half), kConfidence);
  const Interval second = median_interval(all.last(half), kConfidence);
  if (!first.low || !first.high || !second.low || !second.high) return std::nullopt;
  if (*second.low <= *first.high && *first.low <= *second.high) return std::nullopt;
  const double change = second.center - first.center;
  if (std::abs(change) < kDriftRatio * std::abs(first.center)) return std::nullopt;
  return fmt::format(
      "drifts: the median of the second half is {} than that of the first ({:.6g} against {:.6g} "
      "{}), so the machine or the work changed during the run",
      change > 0 ? "higher" : "lower", second.center, first.center, metric.unit);
}

/// Throws std::invalid_argument for times that are none, or have no partner.
std::vector<double> log_ratios(std::span<const double> base, std::span<const double> candidate) {
  if (base.size() != candidate.size()) throw std::invalid_argument("pairs without a partner");
  std::vector<double> logarithms(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (!(base[i] > 0 && candidate[i] > 0))
      throw std::invalid_argument("a time that is not positive");
    logarithms[i] = std::log(base[i]) - std::log(candidate[i]);
  }
  return logarithms;
}

}  // namespace

double median(std::span<const double> values) { return median_of_sorted(sorted_copy(values)); }

Interval median_interval(std::span<const double> values, double confidence) {
  if (!(confidence > 0 && confidence < 1)) throw std::invalid_argument("confidence out of (0, 1)");
  return interval_of_sorted(sorted_copy(values), confidence);
}

double paired_ratio(std::span<const double> base, std::span<const double> candidate) {
  constexpr std::size_t kFewPairs = 5;
  const std::vector<double> logarithms = log_ratios(base, candidate);
  if (logarithms.size() > kFewPairs) return std::exp(median(logarithms));
  std::vector<double> means;
  for (std::size_t i = 0; i < logarithms.size(); ++i) {
    for (std::size_t j = i; j < logarithms.size(); ++j) {
      means.push_back((logarithms[i] + logarithms[j]) / 2);
    }
  }
  return std::exp(median(means));
}

Interval paired_speedup(std::span<const double> base, std::span<const double> candidate,
                        double confidence) {
  const std::vector<double> logarithms = log_ratios(base, candidate);
  Interval interval = median_interval(logarithms, confidence);
  interval.center = std::exp(interval.center);
  if (interval.low) interval.low = std::exp(*interval.low);
  if (interval.high) interval.high = std::exp(*interval.high);
  return interval;
}

Interval ratio_interval(std::span<const double> ratios, double confidence) {
  const std::vector<double> ones(ratios.size(), 1.0);
  return paired_speedup(ratios, ones, confidence);
}

// The k-th smallest and k-th largest of all differences bound the shift with a confidence of
// 1 - 2 P(U <= k - 1): the test of that shift would not refuse it (Lehmann, Nonparametrics,
// section 2.6).
Interval unpaired_shift(std::span<const double> base, std::span<const double> candidate,
                        double confidence) {
  if (!(confidence > 0 && confidence < 1)) throw std::invalid_argument("confidence out of (0, 1)");
  if (base.size() > kMostUnpaired || candidate.size() > kMostUnpaired) {
    throw std::invalid_argument("more samples than an exact interval is computed for");
  }
  std::vector<double> differences;
  differences.reserve(base.size() * candidate.size());
  for (const double b : base) {
    for (const double c : candidate) differences.push_back(c - b);
  }
  Interval shift;
  shift.center = median(differences);  // refuses what is empty or not finite
  std::sort(differences.begin(), differences.end());
  const std::vector<double> tail =
      rank_sum_tail(base.size(), candidate.size(), (1 - confidence) / 2);
  if (tail.empty()) return shift;
  const std::size_t k = tail.size();  // 1-based rank of the lower bound
  shift.low = differences[k - 1];
  shift.high = differences[differences.size() - k];
  shift.confidence = 1 - 2 * tail.back();
  return shift;
}

Quartiles quartiles(std::span<const double> values) {
  return quartiles_of_sorted(sorted_copy(values));
}

std::optional<double> tail_quantile(std::span<const double> values, double p) {
  if (!(p > 0.5 && p < 1)) throw std::invalid_argument("tail quantile out of (0.5, 1)");
  return tail_of_sorted(sorted_copy(values), p);
}

std::optional<double> olympic_mean(const std::vector<std::optional<double>>& times) {
  std::vector<double> reached;
  for (const std::optional<double>& time : times) {
    if (time) reached.push_back(*time);
  }
  if (times.size() < 3 || reached.size() + 1 < times.size()) return std::nullopt;
  std::sort(reached.begin(), reached.end());
  const auto last = reached.end() - (reached.size() == times.size() ? 1 : 0);
  const double sum = std::accumulate(reached.begin() + 1, last, 0.0);
  return sum / static_cast<double>(times.size() - 2);
}

std::vector<double> summarised_values(const Metric& metric) {
  std::vector<double> values;
  for (const Sample& sample : metric.samples) {
    if (!sample.warmup && sample.value && std::isfinite(*sample.value)) {
      values.push_back(*sample.value);
    }
  }
  return values;
}

void summarise(Metric& metric) {
  metric.summary = {};
  metric.warnings.clear();
  const std::vector<double> values = summarised_values(metric);
  const auto timed = std::count_if(metric.samples.begin(), metric.samples.end(),
                                   [](const Sample& sample) { return !sample.warmup; });
  const std::size_t missing = static_cast<std::size_t>(timed) - values.size();
  if (missing > 0) {
    metric.warnings.push_back(fmt::format("{} of {} samples are not finite and are left out",
                                          missing, missing + values.size()));
  }
  metric.summary.n = static_cast<std::int64_t>(values.size());
  if (values.empty()) {
    metric.warnings.emplace_back(
        "no finite sample after the warm-up: there is nothing to summarise");
    return;
  }
  const std::vector<double> sorted = sorted_copy(values);
  metric.summary.median = Interval{median_of_sorted(sorted), {}, {}, 0};
  metric.summary.quartiles = quartiles_of_sorted(sorted);
  metric.summary.min = sorted.front();
  metric.summary.max = sorted.back();
  metric.summary.p90 = tail_of_sorted(sorted, 0.90);
  metric.summary.p99 = tail_of_sorted(sorted, 0.99);
  if (const auto drift = drift_warning(metric, values)) metric.warnings.push_back(*drift);
}

}  // namespace harness
