// The model's tensors under the names of the reference's state dict.
#pragma once

#include <cstdint>

#include "workloads/retinanet/architecture.hpp"
#include "workloads/torch/parameters.hpp"

namespace harness::workloads {

/// All parameters and buffers of the model, in the order of the reference's state dict: of MLPerf's
/// with 264 classes 37,060,652 parameter elements, of which 36,849,004 trainable.
class RetinaNetParameters : public ParameterStore {
 public:
  /// Allocates everything; values are those of set_initial_values(seed 0) only after that call.
  explicit RetinaNetParameters(int64_t num_classes, const Architecture& architecture = {});

  /// The reference's distributions: kaiming_normal (fan out, ReLU) for the body, kaiming_uniform
  /// (a=1) for the pyramid, N(0, 0.01) for the heads, biases 0 but ln(0.01/0.99) for the class
  /// logits, batch norms the identity. From a counter-based generator and exactly rounded
  /// arithmetic, so a seed gives the same bits on every machine and for any number of threads.
  void set_initial_values(std::uint32_t seed);

 private:
  bool scaled_heads_ = false;
};

}  // namespace harness::workloads
