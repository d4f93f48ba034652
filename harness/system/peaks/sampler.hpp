// Peaks of this machine, measured in short bursts between the timed steps of a run, so that they
// see the same clock, neighbours and temperature as the steps do.
#pragma once

#include <memory>
#include <vector>

#include "harness/base/peak_doubt.hpp"
#include "harness/base/types.hpp"

namespace harness {

struct PeakOptions {
  double settle_seconds =
      0.010;                     ///< before a burst, for spinning worker threads of others to sleep
  double warm_seconds = 0.004;   ///< untimed work before each quantity, for the clock to rise
  double timed_seconds = 0.012;  ///< of each quantity
  long long copy_bytes = 0;      ///< a direction, all threads together; 0: 4x the caches in use, at
                                 ///< least 64 MiB
};

/// Samples fma.fp32, fma.fp64, fma.bf16, fma.int8 (FLOP/s) and copy.bandwidth (B/s, read and
/// written bytes) over all threads together. Keeps its threads and copy buffers until it is
/// destroyed.
class PeakSampler {
 public:
  /// Starts the threads, each bound to one of the CPUs this process may use, physical cores first.
  /// Throws Error for a count outside of 1..4096 or when the system gives no more threads.
  explicit PeakSampler(int threads, PeakOptions options = {});
  ~PeakSampler();
  PeakSampler(const PeakSampler&) = delete;
  PeakSampler& operator=(const PeakSampler&) = delete;

  /// Adds one sample to each quantity; about 90 ms, longer on a loaded machine. A quantity whose
  /// arithmetic came out wrong is dropped for good, with the reason.
  void burst();

  /// All quantities with their samples. `value` is empty: statistics are the caller's, who asks
  /// peak_doubt() first. `reason` is set for what this machine cannot do.
  std::vector<Peak> peaks() const;

 private:
  class Crew;
  std::unique_ptr<Crew> crew_;
};

}  // namespace harness
