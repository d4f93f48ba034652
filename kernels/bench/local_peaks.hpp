// What this machine can do around the time of a benchmark, to say how near a kernel comes to it.
#pragma once

#include <cstddef>
#include <string>

#include "harness/system/peaks/sampler.hpp"

namespace harness::kernels::bench {

/// The least time for an amount of work, and why there may be none.
struct Limit {
  double seconds = 0;    ///< 0 when unknown
  std::string reason{};  ///< why unknown
};

/// Peaks of the last second or two: neighbours and clocks come and go, and a share of a peak that
/// was measured minutes ago says little.
class LocalPeaks {
 public:
  explicit LocalPeaks(int threads) : sampler_(threads) {}

  /// Adds a sample to each peak; at the first call as many as are needed.
  void sample();
  /// For `flops` of `precision` (fp32, bf16) and `bytes` moved, whichever takes longer, at the best
  /// of the bursts.
  Limit limit(double flops, const std::string& precision, double bytes) const;

 private:
  static constexpr std::size_t kRecent = 6;

  PeakSampler sampler_;
  bool has_sampled_ = false;
};

}  // namespace harness::kernels::bench
