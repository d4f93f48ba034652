#include "harness/result/profile.hpp"

#include <algorithm>
#include <vector>

#include "harness/stats/stats.hpp"

namespace harness {
namespace {

std::vector<double> timed(const Metric* metric) {
  std::vector<double> values;
  if (metric == nullptr) return values;
  for (const Sample& sample : metric->samples) {
    if (!sample.warmup && sample.value && *sample.value > 0) values.push_back(*sample.value);
  }
  return values;
}

}  // namespace

void measure_overhead(Profile& profile) {
  std::vector<double> plain = timed(find_metric(profile.metrics, kPlainStep));
  std::vector<double> recorded = timed(find_metric(profile.metrics, kRecordedStep));
  const std::size_t pairs = std::min(plain.size(), recorded.size());
  profile.overhead.reset();
  profile.overhead_reason.clear();
  if (pairs == 0) {
    profile.overhead_reason = "no plain step was run next to a recorded one";
    return;
  }
  plain.resize(pairs);
  recorded.resize(pairs);
  profile.overhead = paired_speedup(recorded, plain);
}

}  // namespace harness
