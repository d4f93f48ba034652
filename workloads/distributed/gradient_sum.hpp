// Gradients of several ranks become their mean while the backward pass still goes on.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/workload/workload.hpp"
#include "workloads/distributed/gradient_buckets.hpp"
#include "workloads/distributed/torch_ranks.hpp"

namespace harness::workloads {

/// Each gradient, as soon as it is there, becomes a part of a bucket: one stretch of memory, whose
/// sum over the ranks begins when its last gradient is there. Buckets are filled from the last
/// parameter to the first, the order in which a backward pass comes to them, and summed in that
/// order on all ranks. A parameter that has a gradient on some of the ranks counts as zero on the
/// others; one that has none on any keeps none.
class GradientSum {
 public:
  /// `parameters` are float32, the same ones on all ranks. The stage "gradient-sum" of `stopwatch`,
  /// if there is one, gets how long sums were under way. `ranks` and `stopwatch` outlive this.
  GradientSum(TorchRanks& ranks, const std::vector<at::Tensor>& parameters, SumPrecision precision,
              Stopwatch* stopwatch, std::int64_t bucket_bytes = kBucketBytes);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  /// Behind each backward pass, before gradients are used: returns when each parameter's gradient
  /// is the mean over the ranks, of the same bits on all. Throws LostRank.
  void finish();

  std::size_t buckets() const { return buckets_.size(); }

 private:
  struct Slot {
    at::Tensor parameter{};
    at::Tensor view{};  ///< of the bucket, laid out as the parameter is
    bool there = false;
  };
  struct Bucket {
    std::vector<Slot> slots{};
    at::Tensor values{};     ///< what is added up: gradients and flags, a multiple of the world
    at::Tensor gradients{};  ///< of `values`
    at::Tensor flags{};      ///< of `values`: 1 for each gradient that is there
    std::size_t missing = 0;
    std::unique_ptr<PendingSum> sum{};
  };
  void take(std::size_t bucket, std::size_t slot);
  void start(Bucket& bucket);
  /// Those whose turn it is.
  void start_ready();

  TorchRanks& ranks_;
  SumPrecision precision_;
  Stopwatch* stopwatch_;
  std::vector<Bucket> buckets_;
  std::size_t started_ = 0;
};

}  // namespace harness::workloads
