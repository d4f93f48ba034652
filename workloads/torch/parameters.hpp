// A model's tensors by their names.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace harness::workloads {

struct Parameter {
  std::string name{};   ///< `backbone.body.layer2.0.conv1.weight`
  at::Tensor tensor{};  ///< float32; four-dimensional ones channels_last
  bool buffer = false;  ///< batch-norm statistics and affine: never trained
  bool trainable = false;
};

class ParameterStore {
 public:
  /// Zeros of that shape behind what is there.
  void add(const std::string& name, at::IntArrayRef shape, bool buffer, bool trainable);

  /// In the order in which they were added.
  const std::vector<Parameter>& all() const { return entries_; }
  /// Null when there is no such name.
  const Parameter* find(const std::string& name) const;
  /// Throws std::out_of_range when there is no such name.
  const at::Tensor& get(const std::string& name) const;
  /// Every tensor by its name, to load weights into.
  std::map<std::string, at::Tensor> by_name() const;
  /// Those that require gradients, in order.
  std::vector<at::Tensor> trainable() const;

  /// Copies `value`, of any strides, in; throws std::invalid_argument for another shape.
  void set(const std::string& name, const at::Tensor& value);

 private:
  std::vector<Parameter> entries_{};
  std::unordered_map<std::string, std::size_t> index_{};
};

}  // namespace harness::workloads
