#include "workloads/torch/parameters.hpp"

#include <ATen/core/grad_mode.h>

#include <stdexcept>
#include <utility>

namespace harness::workloads {

void ParameterStore::add(const std::string& name, at::IntArrayRef shape, bool buffer,
                         bool trainable) {
  const auto format =
      shape.size() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  at::Tensor tensor = at::zeros(shape, at::kFloat).contiguous(format);
  tensor.set_requires_grad(trainable);
  index_.emplace(name, entries_.size());
  entries_.push_back({name, std::move(tensor), buffer, trainable});
}

const Parameter* ParameterStore::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

const at::Tensor& ParameterStore::get(const std::string& name) const {
  const Parameter* parameter = find(name);
  if (parameter == nullptr) throw std::out_of_range("no parameter named " + name);
  return parameter->tensor;
}

std::map<std::string, at::Tensor> ParameterStore::by_name() const {
  std::map<std::string, at::Tensor> tensors;
  for (const Parameter& parameter : entries_) tensors.emplace(parameter.name, parameter.tensor);
  return tensors;
}

std::vector<at::Tensor> ParameterStore::trainable() const {
  std::vector<at::Tensor> tensors;
  for (const Parameter& parameter : entries_) {
    if (parameter.trainable) tensors.push_back(parameter.tensor);
  }
  return tensors;
}

void ParameterStore::set(const std::string& name, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  const at::Tensor& tensor = get(name);
  if (value.sizes() != tensor.sizes()) {
    throw std::invalid_argument(name + " has another shape in the model");
  }
  tensor.copy_(value);
}

}  // namespace harness::workloads
