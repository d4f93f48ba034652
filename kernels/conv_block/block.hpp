// A conv block with random tensors of its problem's shapes.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "kernels/conv_block/conv_block.hpp"
#include "kernels/conv_block/problems.hpp"

namespace harness::kernels {

struct ConvBlock {
  ConvProblem problem{};
  at::Tensor input{}, weight{};
  at::Tensor gradient{};  ///< of the output, float32; undefined unless the block is trained
  std::optional<at::Tensor> bias{}, residual{};
  FrozenBatchNorm norm{};

  /// Point into this block.
  ConvBlockArguments arguments() const;
};

/// All maps channels_last, activations bf16 if asked for, parameters float32; those that are
/// trained want gradients.
ConvBlock make_conv_block(const ConvProblem& problem, bool bf16);

}  // namespace harness::kernels
