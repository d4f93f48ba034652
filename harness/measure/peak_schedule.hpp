// When to sample the machine's peaks between the timed steps, and what the samples amount to.
#pragma once

#include <memory>
#include <vector>

#include "harness/base/types.hpp"

namespace harness {

class PeakSampler;

/// Bursts cost time and warm the machine, so they take at most a few percent of the run; but a peak
/// needs several samples, spread over the run, to be worth comparing with.
class PeakSchedule {
 public:
  explicit PeakSchedule(int threads);
  ~PeakSchedule();
  PeakSchedule(const PeakSchedule&) = delete;
  PeakSchedule& operator=(const PeakSchedule&) = delete;

  /// To be called after each timed step.
  void after_step(double step_seconds);
  /// Tops up short runs to the least useful number of bursts, then summarises: median and best
  /// burst are empty, with the reason, when the spread is too wide. Nothing when no step asked for
  /// a burst.
  std::vector<Peak> finish();

 private:
  void burst();

  int threads_;
  std::unique_ptr<PeakSampler> sampler_;
  double step_seconds_ = 0;
  double burst_seconds_ = 0;
  int bursts_ = 0;
};

}  // namespace harness
