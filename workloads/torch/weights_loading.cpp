#include "workloads/torch/weights_loading.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <stdexcept>
#include <vector>

namespace harness::workloads {

WeightsReport load_weights(const std::filesystem::path& path,
                           const std::map<std::string, at::Tensor>& destinations) {
  std::vector<WeightSlot> slots;
  std::vector<at::Tensor> targets;
  for (const auto& [name, tensor] : destinations) {
    if (tensor.scalar_type() != at::kFloat || !tensor.is_cpu()) {
      throw std::invalid_argument("load_weights: " + name + " is not float32 on the CPU");
    }
    slots.push_back({name, tensor.sizes().vec()});
    targets.push_back(tensor);
  }
  const TensorFile file = TensorFile::open(path);
  WeightsMatch match = match_weights(file, slots);

  std::vector<at::Tensor> values;
  for (const auto& [slot, source] : match.assignments) {
    at::Tensor value = at::empty(source->shape, at::kFloat);
    read_weight(file, slots[slot].name, *source,
                {value.data_ptr<float>(), static_cast<std::size_t>(value.numel())});
    values.push_back(std::move(value));
  }
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Neither does autograd see it, nor do views and layers that share the tensor lose it.
    targets[match.assignments[i].first].copy_(values[i]);
  }
  return std::move(match.report);
}

}  // namespace harness::workloads
