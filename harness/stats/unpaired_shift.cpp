#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "harness/stats/rank_sum.hpp"
#include "harness/stats/stats.hpp"

namespace harness {

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

}  // namespace harness
