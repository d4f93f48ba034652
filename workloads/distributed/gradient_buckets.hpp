// How the gradients of a model are put together for summing over ranks, and when they are there.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "harness/base/types.hpp"

namespace harness::workloads {

/// Large enough to be worth the words that begin it, small enough that the last one, which nothing
/// hides, is soon over.
inline constexpr std::int64_t kBucketBytes = std::int64_t{8} << 20;

/// From the last parameter to the first, the order in which a backward pass comes to them.
std::vector<std::vector<at::Tensor>> in_buckets(const std::vector<at::Tensor>& parameters,
                                                std::int64_t bucket_bytes = kBucketBytes);

/// Calls `there` each time that the parameter's gradient is whole, until forget_gradient().
void when_gradient_is_there(const at::Tensor& parameter, std::function<void()> there);
void forget_gradient(const at::Tensor& parameter);

/// Watches, in the only rank of a run, when each bucket would be ready to be summed. It does no
/// more than note the time.
class GradientTimes {
 public:
  /// `now` tells seconds; it outlives this.
  GradientTimes(const std::vector<at::Tensor>& parameters, std::function<double()> now);
  ~GradientTimes();
  GradientTimes(const GradientTimes&) = delete;
  GradientTimes& operator=(const GradientTimes&) = delete;

  /// Around each backward pass.
  void begin();
  void end();

  /// Medians over the passes so far; empty before the first.
  std::vector<GradientBucket> buckets() const;

 private:
  struct Bucket {
    std::vector<at::Tensor> parameters{};
    double bytes = 0;
    double last = 0;  ///< when the last gradient of this pass was there
    std::vector<double> ready{};
  };

  std::function<double()> now_;
  std::vector<Bucket> buckets_{};
  double began_ = 0;
};

}  // namespace harness::workloads
