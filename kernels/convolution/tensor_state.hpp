// Whether a tensor's values are still those that something was made from.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace harness::kernels {

/// A number that is another one after each change of the tensor's values: its version counter,
/// which ATen's operators raise under inference mode too, or what UnchangedTensors says of a tensor
/// that was made under inference mode and has no counter. Empty: nobody tells of changes.
std::optional<std::uint64_t> state_of(const at::Tensor& tensor);

/// For the owner of a model that was loaded under inference mode: its tensors keep their values
/// until changed() is called, so what kernels make of them is kept. Whoever writes to them calls it
/// before the next call of a kernel. Tensors with a version counter need no such word.
class UnchangedTensors {
 public:
  /// Throws std::invalid_argument for a tensor that another owner speaks for.
  explicit UnchangedTensors(std::vector<at::Tensor> tensors);
  ~UnchangedTensors();
  UnchangedTensors(const UnchangedTensors&) = delete;
  UnchangedTensors& operator=(const UnchangedTensors&) = delete;

  void changed();

 private:
  std::vector<at::Tensor> tensors_;
};

/// What is made as long as this lives serves training as well as inference, whichever is first to
/// ask for it: its tensors have version counters and want no gradients.
class KeepingScope {
 public:
  KeepingScope() {
    if (c10::InferenceMode::is_enabled()) normal_.emplace(false);
    no_grad_.emplace();
  }
  KeepingScope(const KeepingScope&) = delete;
  KeepingScope& operator=(const KeepingScope&) = delete;

 private:
  std::optional<c10::InferenceMode> normal_{};
  std::optional<at::NoGradGuard> no_grad_{};  ///< after it, since that turns gradients on
};

/// What is made from a tensor, kept for as long as the tensor lives. Who makes something of one
/// tensor does not wait for who makes something of another.
template <class Value>
class KeptByTensor {
 public:
  struct Entry {
    std::mutex mutex{};  ///< to be held while `value` is read or made
    Value value{};
  };

  /// The same entry for the same tensor.
  std::shared_ptr<Entry> of(const at::Tensor& tensor) {
    const at::TensorImpl* key = tensor.unsafeGetTensorImpl();
    {
      const std::shared_lock<std::shared_mutex> reading(mutex_);
      const auto found = kept_.find(key);
      if (found != kept_.end()) return found->second.entry;
    }
    const std::lock_guard<std::shared_mutex> writing(mutex_);
    // Parameters come and go with their models.
    std::erase_if(kept_, [](const auto& one) { return one.second.tensor.expired(); });
    const auto place = kept_.try_emplace(key, Kept{Weak(tensor.getIntrusivePtr())}).first;
    return place->second.entry;
  }

 private:
  using Weak = c10::weak_intrusive_ptr<at::TensorImpl>;
  struct Kept {
    Weak tensor;  ///< keeps the address from being given to another tensor
    std::shared_ptr<Entry> entry = std::make_shared<Entry>();
  };

  std::shared_mutex mutex_{};
  std::map<const at::TensorImpl*, Kept> kept_{};
};

}  // namespace harness::kernels
