// Small tensors from lists of numbers, and thread counts that are put back.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "kernels/runtime/threads.hpp"

namespace harness::tests {

inline at::Tensor floats(at::IntArrayRef shape, const std::vector<float>& values) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

inline at::Tensor longs(const std::vector<int64_t>& values) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), tensor.data_ptr<int64_t>());
  return tensor;
}

/// While it lives, operators use this many threads.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(kernels::threads()) { kernels::set_threads(threads); }
  ~ThreadScope() { kernels::set_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

}  // namespace harness::tests
