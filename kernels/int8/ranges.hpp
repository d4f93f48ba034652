// What layers' activations lie between, measured once, and who computes by it. A layer is known by
// its weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "kernels/int8/affine.hpp"

namespace harness::kernels {

struct LayerRanges {
  Range input{}, output{};
  bool operator==(const LayerRanges&) const = default;
};

/// Of a model's layers; its weights outlive it.
class Int8Ranges {
 public:
  /// Widens the layer's ranges to hold all values of both tensors. Throws std::invalid_argument for
  /// values that are not finite.
  void hold(const at::Tensor& weight, const at::Tensor& input, const at::Tensor& output);
  /// Throws std::invalid_argument for a layer that nobody measured.
  const LayerRanges& of(const at::Tensor& weight) const;
  std::size_t layers() const { return layers_.size(); }
  /// Of all ranges, layer by layer in the order in which they were met: two models with one text
  /// compute alike.
  std::string text() const;

 private:
  struct Entry {
    std::size_t number = 0;
    LayerRanges ranges{};
  };
  std::map<const at::TensorImpl*, Entry> layers_{};
};

/// While it lives, operators of this thread compute in float32, by their reference, and tell
/// `ranges` what they take and give.
class CalibrationScope {
 public:
  explicit CalibrationScope(Int8Ranges& ranges);
  ~CalibrationScope();
  CalibrationScope(const CalibrationScope&) = delete;
  CalibrationScope& operator=(const CalibrationScope&) = delete;

 private:
  Int8Ranges* before_;
};

/// While it lives, convolutions and linear layers of this thread compute in int8 by `ranges`; with
/// null it does nothing.
class Int8Scope {
 public:
  explicit Int8Scope(const Int8Ranges* ranges);
  ~Int8Scope();
  Int8Scope(const Int8Scope&) = delete;
  Int8Scope& operator=(const Int8Scope&) = delete;

 private:
  const Int8Ranges* before_;
};

/// What this thread's operators are to do; null: nothing of the kind.
Int8Ranges* calibrated_now();
const Int8Ranges* int8_now();

}  // namespace harness::kernels
