#include "kernels/convolution/tensor_state.hpp"

#include <stdexcept>
#include <utility>

namespace harness::kernels {
namespace {

// States of tensors without a counter. Each is given once, so that none returns after a change.
struct Declared {
  std::shared_mutex mutex{};
  std::map<const at::TensorImpl*, std::uint64_t> states{};
  std::uint64_t last = 0;
};

Declared& declared() {
  // Never destroyed: owners may outlive this file's statics.
  static auto* const instance = new Declared();
  return *instance;
}

}  // namespace

std::optional<std::uint64_t> state_of(const at::Tensor& tensor) {
  if (!tensor.is_inference()) return tensor._version();
  Declared& all = declared();
  const std::shared_lock<std::shared_mutex> reading(all.mutex);
  const auto found = all.states.find(tensor.unsafeGetTensorImpl());
  if (found == all.states.end()) return std::nullopt;
  return found->second;
}

UnchangedTensors::UnchangedTensors(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {
  Declared& all = declared();
  const std::lock_guard<std::shared_mutex> writing(all.mutex);
  for (const at::Tensor& tensor : tensors_) {
    if (all.states.contains(tensor.unsafeGetTensorImpl())) {
      throw std::invalid_argument("two owners speak for the values of one tensor");
    }
  }
  for (const at::Tensor& tensor : tensors_) {
    all.states[tensor.unsafeGetTensorImpl()] = ++all.last;
  }
}

UnchangedTensors::~UnchangedTensors() {
  Declared& all = declared();
  const std::lock_guard<std::shared_mutex> writing(all.mutex);
  for (const at::Tensor& tensor : tensors_) all.states.erase(tensor.unsafeGetTensorImpl());
}

void UnchangedTensors::changed() {
  Declared& all = declared();
  const std::lock_guard<std::shared_mutex> writing(all.mutex);
  for (const at::Tensor& tensor : tensors_) {
    all.states[tensor.unsafeGetTensorImpl()] = ++all.last;
  }
}

}  // namespace harness::kernels
