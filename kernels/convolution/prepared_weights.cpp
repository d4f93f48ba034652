#include "kernels/convolution/prepared_weights.hpp"

#include <ATen/core/grad_mode.h>
#include <c10/util/intrusive_ptr.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/runtime/profiler.hpp"
#include "kernels/runtime/stages.hpp"

namespace harness::kernels {
namespace {

using Weak = c10::weak_intrusive_ptr<at::TensorImpl>;

struct Prepared {
  Weak weight;
  uint32_t version = 0;
  at::Tensor scale{};
  std::vector<std::pair<WeightForm, at::Tensor>> forms{};
};

std::mutex mutex;

std::map<const at::TensorImpl*, Prepared>& cache() {
  // Never destroyed: at the end of the program the memory of its tensors may be gone before it.
  static auto* const instance = new std::map<const at::TensorImpl*, Prepared>();
  return *instance;
}

// Parameters come and go with their models.
void forget_the_dead() {
  std::erase_if(cache(), [](const auto& entry) { return entry.second.weight.expired(); });
}

}  // namespace

at::Tensor prepared_weights(const ConvolutionWeights& weights, const WeightForm& form,
                            const std::function<at::Tensor()>& make) {
  const at::NoGradGuard no_grad;
  const at::Tensor& weight = weights.weight;
  if (weight.is_inference()) return make();  // has no version
  const std::lock_guard<std::mutex> lock(mutex);
  const auto version = static_cast<uint32_t>(weight._version());
  const at::TensorImpl* key = weight.unsafeGetTensorImpl();
  auto found = cache().find(key);
  if (found == cache().end() || found->second.weight.expired() ||
      found->second.version != version || !found->second.scale.is_same(weights.scale)) {
    if (found == cache().end()) forget_the_dead();
    Prepared fresh{Weak(weight.getIntrusivePtr()), version, weights.scale};
    found = cache().insert_or_assign(key, std::move(fresh)).first;
  }
  for (const auto& [known, tensor] : found->second.forms) {
    if (known == form) return tensor;
  }
  const Stage stage("pack");
  const KernelScope scope("pack-weights");
  return found->second.forms.emplace_back(form, make()).second;
}

}  // namespace harness::kernels
