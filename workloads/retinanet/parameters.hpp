// The model's tensors under the names of the reference's state dict.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/retinanet/architecture.hpp"

namespace harness::workloads {

struct Parameter {
  std::string name{};   ///< `backbone.body.layer2.0.conv1.weight`
  at::Tensor tensor{};  ///< float32; four-dimensional ones channels_last
  bool buffer = false;  ///< batch-norm statistics and affine: never trained
  bool trainable = false;
};

/// All parameters and buffers of the model: of MLPerf's with 264 classes 37,060,652 parameter
/// elements, of which 36,849,004 trainable.
class ParameterStore {
 public:
  /// Allocates everything; values are those of set_initial_values(seed 0) only after that call.
  explicit ParameterStore(int64_t num_classes, const Architecture& architecture = {});

  /// In the order of the reference's state dict.
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

  /// The reference's distributions: kaiming_normal (fan out, ReLU) for the body, kaiming_uniform
  /// (a=1) for the pyramid, N(0, 0.01) for the heads, biases 0 but ln(0.01/0.99) for the class
  /// logits, batch norms the identity. From a counter-based generator and exactly rounded
  /// arithmetic, so a seed gives the same bits on every machine and for any number of threads.
  void set_initial_values(std::uint32_t seed);

 private:
  void add(const std::string& name, at::IntArrayRef shape, bool buffer, bool trainable);

  std::vector<Parameter> entries_;
  std::unordered_map<std::string, size_t> index_;
  bool scaled_heads_ = false;
};

}  // namespace harness::workloads
