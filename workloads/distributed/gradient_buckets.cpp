#include "workloads/distributed/gradient_buckets.hpp"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

namespace harness::workloads {
namespace {

class Hook : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit Hook(std::function<void()> there) : there_(std::move(there)) {}
  void operator()(const at::Tensor& /*parameter*/) override { there_(); }

 private:
  std::function<void()> there_;
};

}  // namespace

std::vector<std::vector<at::Tensor>> in_buckets(const std::vector<at::Tensor>& parameters,
                                                std::int64_t bucket_bytes) {
  std::vector<std::vector<at::Tensor>> buckets;
  std::int64_t bytes = bucket_bytes;
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    if (bytes >= bucket_bytes) {
      buckets.emplace_back();
      bytes = 0;
    }
    buckets.back().push_back(*parameter);
    bytes += static_cast<std::int64_t>(parameter->nbytes());
  }
  return buckets;
}

void when_gradient_is_there(const at::Tensor& parameter, std::function<void()> there) {
  torch::autograd::impl::set_post_acc_grad_hooks(parameter,
                                                 std::make_unique<Hook>(std::move(there)));
}

void forget_gradient(const at::Tensor& parameter) {
  torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

GradientTimes::GradientTimes(const std::vector<at::Tensor>& parameters, std::function<double()> now)
    : now_(std::move(now)) {
  for (std::vector<at::Tensor>& part : in_buckets(parameters)) {
    buckets_.push_back({std::move(part)});
  }
  for (Bucket& bucket : buckets_) {
    for (const at::Tensor& parameter : bucket.parameters) {
      bucket.bytes += static_cast<double>(parameter.nbytes());
      when_gradient_is_there(parameter, [this, &bucket] { bucket.last = now_(); });
    }
  }
}

GradientTimes::~GradientTimes() {
  for (const Bucket& bucket : buckets_) {
    for (const at::Tensor& parameter : bucket.parameters) forget_gradient(parameter);
  }
}

void GradientTimes::begin() {
  began_ = now_();
  for (Bucket& bucket : buckets_) bucket.last = 0;
}

void GradientTimes::end() {
  const double ended = now_();
  for (Bucket& bucket : buckets_) {
    // One without a gradient is ready at the end, when it is known that none comes.
    const double last = bucket.last == 0 ? ended : bucket.last;
    bucket.ready.push_back((last - began_) / (ended - began_));
  }
}

std::vector<GradientBucket> GradientTimes::buckets() const {
  std::vector<GradientBucket> told;
  for (const Bucket& bucket : buckets_) {
    if (bucket.ready.empty()) return {};
    std::vector<double> ready = bucket.ready;
    const auto middle = ready.begin() + std::ssize(ready) / 2;
    std::nth_element(ready.begin(), middle, ready.end());
    told.push_back({bucket.bytes, *middle});
  }
  return told;
}

}  // namespace harness::workloads
