// Ranks that can add up tensors.
#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "harness/workload/ranks.hpp"
#include "harness/workload/workload.hpp"

namespace harness::workloads {

/// A sum that is under way.
class PendingSum {
 public:
  virtual ~PendingSum() = default;
  /// Returns when the sum is there. Throws LostRank.
  virtual void wait() = 0;
  /// When it began, and behind wait() when it ended, by the stopwatch that it was started with;
  /// without one 0.
  virtual double began() const = 0;
  virtual double ended() const = 0;
};

class TorchRanks : public Ranks {
 public:
  /// Begins to add up `values` over the ranks, in place: contiguous float32 of one size on all.
  /// Others keep away from them until it is there. Sums begin in the same order on all ranks, and
  /// have the same bits on all.
  virtual std::unique_ptr<PendingSum> start_sum(at::Tensor values, const Stopwatch* stopwatch) = 0;
};

/// The context's ranks; null where there is one. Throws Error for ranks that know no tensors.
TorchRanks* torch_ranks(Ranks* ranks);

}  // namespace harness::workloads
