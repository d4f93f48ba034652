// Ranks that can add up tensors, over any engine.
#pragma once

#include <ATen/ATen.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "harness/workload/ranks.hpp"
#include "harness/workload/workload.hpp"
#include "workloads/distributed/wire.hpp"

namespace harness::workloads {

/// How numbers travel between ranks. They are added up in float32 either way.
enum class SumPrecision {
  kFloat,
  kBf16,  ///< each number, and each sum, rounded to the nearest bf16, ties to even
};

/// A sum that is under way.
class PendingSum {
 public:
  PendingSum(double began, std::shared_ptr<std::atomic<double>> ended, std::future<void> done)
      : began_(began), ended_(std::move(ended)), done_(std::move(done)) {}
  /// Nobody may go, the values least of all, while it is under way.
  ~PendingSum() {
    if (done_.valid()) done_.wait();
  }
  PendingSum(const PendingSum&) = delete;
  PendingSum& operator=(const PendingSum&) = delete;

  /// Returns when the sum is there. Throws LostRank.
  void wait() { done_.get(); }
  /// When it began, and behind wait() when it ended, by the stopwatch that it was started with;
  /// without one 0.
  double began() const { return began_; }
  double ended() const { return ended_->load(); }

 private:
  double began_;
  std::shared_ptr<std::atomic<double>> ended_;
  std::future<void> done_;
};

/// What goes over the wire goes from one thread, in the order in which it was asked for.
class TorchRanks : public Ranks {
 public:
  TorchRanks(const RankPlace& place, std::unique_ptr<Wire> wire);
  ~TorchRanks() override;

  int rank() const override { return rank_; }
  int world() const override { return world_; }
  std::string engine() const override { return wire_->engine(); }
  std::vector<std::string> gather(const std::string& mine) override;
  void hang_up() noexcept override { wire_->hang_up(); }

  /// Begins to add up `values` over the ranks, in place: contiguous float32 of one size on all.
  /// Others keep away from them until the sum is there. It has the same bits on all ranks, and
  /// with every engine: each number is added up in the order of the ranks. Without a copy where
  /// their number is a multiple of the world.
  std::unique_ptr<PendingSum> start_sum(const at::Tensor& values, SumPrecision precision,
                                        const Stopwatch* stopwatch);

 private:
  class Thread;
  class Adder;

  /// The first `size` bytes that each rank has, filled up with zeros.
  std::vector<std::string> exchange(const std::string& mine, std::int64_t size);

  int rank_;
  int world_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<Adder> adder_;
  std::unique_ptr<Thread> thread_;  ///< the last one: it ends before the others go
};

/// The context's ranks; null where there is one. Throws Error for ranks that know no tensors.
TorchRanks* torch_ranks(Ranks* ranks);

/// As the setting `gradient_sums` has it.
SumPrecision sum_precision(const WorkloadContext& context);

}  // namespace harness::workloads
