#include "workloads/coco_map/summary.hpp"

#include <algorithm>

namespace harness::workloads::coco {
namespace {

constexpr std::size_t kRecalls = 101;

// The same doubles as numpy.linspace gives.
constexpr std::array<double, kRecalls> kRecallThresholds = [] {
  std::array<double, kRecalls> values{};
  for (std::size_t i = 0; i < kRecalls; ++i) values[i] = static_cast<double>(i) * (1.0 / 100);
  values.back() = 1;
  return values;
}();

bool is_in(ThresholdSet set, std::size_t threshold) { return ((set >> threshold) & 1U) != 0; }

double share(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Adds the recall at every threshold with the `limit` surest detections of each image.
void add_recalls(std::span<const Outcome> outcomes, std::size_t limit, std::size_t positives,
                 Mean& mean) {
  std::array<std::size_t, kThresholds> found{};
  for (const Outcome& outcome : outcomes) {
    if (outcome.rank >= limit) continue;
    for (std::size_t t = 0; t < kThresholds; ++t) {
      if (is_in(outcome.right[kAnySize], t)) ++found[t];
    }
  }
  for (const std::size_t count : found) mean.add(share(count, positives));
}

}  // namespace

void PrecisionCurve::draw(std::span<const Outcome> outcomes, std::size_t size,
                          std::size_t threshold) {
  // COCO's guard against 0 / 0; it also takes a lone first hit a hair below 1.
  constexpr double kSpacing = 0x1p-52;
  // Only the right ones matter: elsewhere recall stands still and precision falls.
  precisions_.clear();
  std::size_t wrong = 0;
  for (const Outcome& outcome : outcomes) {
    if (is_in(outcome.wrong[size], threshold)) ++wrong;
    if (!is_in(outcome.right[size], threshold)) continue;
    const auto right = static_cast<double>(precisions_.size() + 1);
    precisions_.push_back(right / (static_cast<double>(wrong) + right + kSpacing));
  }
  for (std::size_t i = precisions_.size(); i-- > 1;) {
    precisions_[i - 1] = std::max(precisions_[i - 1], precisions_[i]);
  }
}

double PrecisionCurve::average(std::size_t positives) const {
  double sum = 0;
  std::size_t n = 0;
  for (const double recall : kRecallThresholds) {
    while (n < found() && share(n + 1, positives) < recall) ++n;
    if (n == found()) break;  // never reached: precision 0 from here on
    sum += precisions_[n];
  }
  return sum / static_cast<double>(kRecalls);
}

void Summary::add_category(std::vector<Outcome>& outcomes,
                           const std::array<std::size_t, kSizes>& positives) {
  if (positives[kAnySize] > 0) {
    add_recalls(outcomes, 1, positives[kAnySize], recall_1_);
    add_recalls(outcomes, 10, positives[kAnySize], recall_10_);
  }
  // Stable: equal scores stay in the order of the images.
  std::stable_sort(outcomes.begin(), outcomes.end(),
                   [](const Outcome& a, const Outcome& b) { return a.score > b.score; });
  for (std::size_t size = 0; size < kSizes; ++size) {
    if (positives[size] == 0) continue;
    for (std::size_t t = 0; t < kThresholds; ++t) {
      curve_.draw(outcomes, size, t);
      const double precision = curve_.average(positives[size]);
      precision_[size].add(precision);
      if (size == kAnySize && t == kThreshold50) precision_50_.add(precision);
      if (size == kAnySize && t == kThreshold75) precision_75_.add(precision);
      recall_[size].add(share(curve_.found(), positives[size]));
    }
  }
}

CocoMetrics Summary::metrics() const {
  return {.ap = precision_[kAnySize].value(),
          .ap_50 = precision_50_.value(),
          .ap_75 = precision_75_.value(),
          .ap_small = precision_[kSmall].value(),
          .ap_medium = precision_[kMedium].value(),
          .ap_large = precision_[kLarge].value(),
          .ar_1 = recall_1_.value(),
          .ar_10 = recall_10_.value(),
          .ar_100 = recall_[kAnySize].value(),
          .ar_small = recall_[kSmall].value(),
          .ar_medium = recall_[kMedium].value(),
          .ar_large = recall_[kLarge].value()};
}

}  // namespace harness::workloads::coco
