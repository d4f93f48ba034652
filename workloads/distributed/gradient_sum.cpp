#include "workloads/distributed/gradient_sum.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace harness::workloads {

GradientSum::GradientSum(TorchRanks& ranks, const std::vector<at::Tensor>& parameters,
                         SumPrecision precision, Stopwatch* stopwatch, std::int64_t bucket_bytes)
    : ranks_(ranks), precision_(precision), stopwatch_(stopwatch) {
  for (const std::vector<at::Tensor>& part : in_buckets(parameters, bucket_bytes)) {
    Bucket& bucket = buckets_.emplace_back();
    for (const at::Tensor& parameter : part) {
      if (parameter.scalar_type() != at::kFloat) {
        throw std::invalid_argument("gradients are added up in float32");
      }
      bucket.slots.push_back({parameter});
    }
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    Bucket& bucket = buckets_[b];
    std::int64_t elements = 0;
    for (const Slot& slot : bucket.slots) elements += slot.parameter.numel();
    const std::int64_t count = std::ssize(bucket.slots);
    const std::int64_t world = ranks.world();
    bucket.values = at::zeros({(elements + count + world - 1) / world * world}, at::kFloat);
    bucket.gradients = bucket.values.narrow(0, 0, elements);
    bucket.flags = bucket.values.narrow(0, elements, count);
    bucket.missing = bucket.slots.size();
    std::int64_t begin = 0;
    for (std::size_t s = 0; s < bucket.slots.size(); ++s) {
      Slot& slot = bucket.slots[s];
      const at::Tensor& parameter = slot.parameter;
      const at::Tensor part = bucket.values.narrow(0, begin, parameter.numel());
      slot.view = parameter.is_non_overlapping_and_dense()
                      ? part.as_strided(parameter.sizes(), parameter.strides())
                      : part.view(parameter.sizes());
      begin += parameter.numel();
      when_gradient_is_there(parameter, [this, b, s] { take(b, s); });
    }
  }
}

GradientSum::~GradientSum() {
  for (Bucket& bucket : buckets_) {
    for (Slot& slot : bucket.slots) forget_gradient(slot.parameter);
  }
}

void GradientSum::take(std::size_t bucket, std::size_t slot) {
  const at::NoGradGuard no_grad;
  Bucket& mine = buckets_[bucket];
  Slot& place = mine.slots[slot];
  place.view.copy_(place.parameter.grad());
  // What autograd made can go at once; the optimiser will find the sum.
  place.parameter.mutable_grad() = at::Tensor();
  if (std::exchange(place.there, true)) {
    throw std::logic_error("two backward passes before their gradients were used");
  }
  if (--mine.missing == 0) start_ready();
}

void GradientSum::start_ready() {
  while (started_ < buckets_.size() && buckets_[started_].missing == 0) start(buckets_[started_++]);
}

void GradientSum::start(Bucket& bucket) {
  float* flag = bucket.flags.mutable_data_ptr<float>();
  for (Slot& slot : bucket.slots) {
    if (!slot.there) slot.view.zero_();
    *flag++ = slot.there ? 1.0F : 0.0F;
  }
  bucket.sum = ranks_.start_sum(bucket.values, precision_, stopwatch_);
}

void GradientSum::finish() {
  const at::NoGradGuard no_grad;
  while (started_ < buckets_.size()) start(buckets_[started_++]);
  double under_way = 0;
  double until = 0;
  for (Bucket& bucket : buckets_) {
    bucket.sum->wait();
    // They begin in their order, so the stretches in which one or more are under way add up so.
    const double ended = bucket.sum->ended();
    under_way += std::max(0.0, ended - std::max(until, bucket.sum->began()));
    if (stopwatch_ != nullptr) stopwatch_->span("gradients", bucket.sum->began(), ended);
    until = std::max(until, ended);
    bucket.sum.reset();
    const float* flag = bucket.flags.const_data_ptr<float>();
    bucket.gradients.div_(ranks_.world());
    for (Slot& slot : bucket.slots) {
      slot.parameter.mutable_grad() = *flag++ > 0 ? slot.view : at::Tensor();
      slot.there = false;
    }
    bucket.missing = bucket.slots.size();
  }
  started_ = 0;
  if (stopwatch_ != nullptr) stopwatch_->add("gradient-sum", under_way);
}

}  // namespace harness::workloads
