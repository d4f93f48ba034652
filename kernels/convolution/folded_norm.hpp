// A frozen batch norm as what a convolution can take in.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "kernels/conv_block/conv_block.hpp"

namespace harness::kernels {

/// scale = weight / sqrt(running_var + eps), to be folded into the weights, and
/// shift = bias - running_mean * scale, the bias; both (channels). The same two tensors until one
/// of the norm's four changes (see tensor_state.hpp).
std::pair<at::Tensor, at::Tensor> fold(const FrozenBatchNorm& norm);

}  // namespace harness::kernels
