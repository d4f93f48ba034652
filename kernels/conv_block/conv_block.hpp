// Operator `conv-block`: convolution, optional bias, optional frozen batch norm, optional residual
// add, optional ReLU (or ReLU6), as one differentiable unit.
#pragma once

#include <ATen/ATen.h>

#include <limits>
#include <optional>

#include "kernels/registry.hpp"

namespace harness::kernels {

/// Batch norm whose statistics and affine never change: y = x * scale + shift per channel, with
/// scale = weight / sqrt(running_var + eps), shift = bias - running_mean * scale. All tensors (C).
struct FrozenBatchNorm {
  at::Tensor weight{};
  at::Tensor bias{};
  at::Tensor running_mean{};
  at::Tensor running_var{};
  double eps = 1e-5;
};

/// What a plain ReLU is cut off at.
inline constexpr double kNoCeiling = std::numeric_limits<double>::infinity();

struct ConvBlockArguments {
  at::Tensor input{};                     ///< (N, C, H, W)
  at::Tensor weight{};                    ///< (O, C/groups, k, k)
  std::optional<at::Tensor> bias{};       ///< (O)
  const FrozenBatchNorm* norm = nullptr;  ///< over O channels
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t groups = 1;
  bool relu = false;
  double ceiling = kNoCeiling;           ///< of the ReLU: 6 for ReLU6
  std::optional<at::Tensor> residual{};  ///< (N, O, H', W'), added before the ReLU
  /// Where it computes in int8, the output is kQUInt8, for another block; else it has no effect.
  bool narrow_output = false;
};

/// (N, O, H', W'). Gradients flow to input, weight, bias and residual as each requires.
using ConvBlockFn = at::Tensor(const ConvBlockArguments& arguments);

Operator<ConvBlockFn>& conv_block_operator();

}  // namespace harness::kernels
