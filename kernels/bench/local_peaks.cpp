#include "kernels/bench/local_peaks.hpp"

#include <algorithm>
#include <vector>

namespace harness::kernels::bench {

void LocalPeaks::sample() {
  for (std::size_t i = has_sampled_ ? 1 : kRecent; i > 0; --i) sampler_.burst();
  has_sampled_ = true;
}

Limit LocalPeaks::limit(double flops, const std::string& precision, double bytes) const {
  Limit limit;
  for (const Peak& peak : sampler_.peaks()) {
    const double amount = peak.tag == "fma." + precision ? flops
                          : peak.tag == "copy.bandwidth" ? bytes
                                                         : 0;
    if (amount == 0) continue;
    std::vector<double> recent = peak.samples;
    if (recent.size() > kRecent) {
      recent.erase(recent.begin(), recent.end() - static_cast<std::ptrdiff_t>(kRecent));
    }
    const std::string reason = peak.reason.empty() ? peak_doubt(recent) : peak.reason;
    if (!reason.empty()) return {0, peak.tag + ": " + reason};
    limit.seconds =
        std::max(limit.seconds, amount / *std::max_element(recent.begin(), recent.end()));
  }
  return limit;
}

}  // namespace harness::kernels::bench
