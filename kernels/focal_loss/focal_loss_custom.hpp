// The `custom` focal loss in two halves, which the PyTorch library registers one by one.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <vector>

#include "kernels/focal_loss/focal_loss.hpp"

namespace harness::kernels {

struct FocalLossResult {
  at::Tensor loss{};  ///< scalar, fp32
  /// Per level its derivative, channels_last, of the logits' type; empty (0) where none was wanted.
  std::vector<at::Tensor> gradients{};
};

/// Throws std::invalid_argument for arguments that do not belong together, as far as that shows
/// without their values: for tensors of a compiler, which have none, too.
void check_focal_loss(const FocalLossArguments& arguments, const std::vector<bool>& wanted);

/// One pass over fp32 or bf16 logits, not differentiable by itself. `wanted`: per level whether its
/// gradient is asked for. The result does not depend on the number of threads. Throws
/// std::invalid_argument as above, and for ids and labels that do not exist.
FocalLossResult focal_loss_and_gradients(const FocalLossArguments& arguments,
                                         const std::vector<bool>& wanted);

/// Makes the loss of `compute`, which is told what is wanted, differentiable once by `levels`.
at::Tensor differentiable_focal_loss(
    const std::vector<at::Tensor>& levels,
    const std::function<FocalLossResult(const std::vector<bool>& wanted)>& compute);

}  // namespace harness::kernels
