// Primitives that are kept with the parameter that they multiply by.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/convolution/convolution.hpp"
#include "kernels/convolution/engine.hpp"
#include "kernels/convolution/prepared_weights.hpp"
#include "kernels/convolution/tensor_state.hpp"

namespace harness::kernels {

/// The kernel of that problem for these parameters, made at its first use: a `Kernel` has a
/// constructor of these three and says its problem(). Of one parameter the hundred that were made
/// last stay (texts differ in length), until its values change.
template <class Kernel>
class KeptKernels {
 public:
  using Problem = typename Kernel::Problem;

  std::shared_ptr<const Kernel> find(const Problem& problem, const ConvolutionWeights& weights,
                                     const at::Tensor& bias) {
    const std::optional<std::uint64_t> state = state_of(weights.weight);
    const std::optional<std::uint64_t> bias_state = bias.defined() ? state_of(bias) : 0;
    if (!state || !bias_state) return std::make_shared<const Kernel>(problem, weights, bias);
    const auto entry = kept_.of(weights.weight);
    const std::lock_guard<std::mutex> lock(entry->mutex);
    Made& made = entry->value;
    const bool same = made.state == *state && made.bias_state == *bias_state &&
                      made.scale.is_same(weights.scale) && made.bias.is_same(bias);
    if (!same) made = {*state, *bias_state, weights.scale, bias, {}, 0};
    for (const auto& one : made.kernels) {
      if (one->problem() == problem) return one;
    }
    constexpr std::size_t kMost = 100;
    auto kernel = std::make_shared<const Kernel>(problem, weights, bias);
    if (made.kernels.size() < kMost) return made.kernels.emplace_back(std::move(kernel));
    return made.kernels[std::exchange(made.oldest, (made.oldest + 1) % kMost)] = std::move(kernel);
  }

 private:
  struct Made {
    std::uint64_t state = 0, bias_state = 0;
    at::Tensor scale{}, bias{};
    std::vector<std::shared_ptr<const Kernel>> kernels{};
    std::size_t oldest = 0;
  };

  KeptByTensor<Made> kept_{};
};

/// `values`, which lie as `plain` says, in the layout that a primitive wants; kept.
inline at::Tensor int8_in_layout(const ConvolutionWeights& weights, const at::Tensor& values,
                                 const dnnl::memory::desc& plain,
                                 const dnnl::memory::desc& wanted) {
  return prepared_weights(weights, {.onednn = wanted}, [&] {
    if (plain == wanted) return values;
    at::Tensor target = at::empty({static_cast<int64_t>(wanted.get_size())}, at::kByte);
    dnnl::memory from = as_memory(plain, values);
    dnnl::memory to = as_memory(wanted, target);
    dnnl::reorder(from, to).execute(stream(), from, to);
    return target;
  });
}

}  // namespace harness::kernels
