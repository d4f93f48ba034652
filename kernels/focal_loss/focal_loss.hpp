// Operator `focal-loss`: sigmoid focal loss over all anchors and classes (Lin et al. 2017, eq. 5).
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "kernels/registry.hpp"

namespace harness::kernels {

struct FocalLossArguments {
  std::vector<at::Tensor>
      levels{};  ///< logits per level, (N, A*classes, H, W) as the head wrote them
  int64_t classes = 0;
  std::vector<at::Tensor> matched{};  ///< per image (anchors) int64, see matcher.hpp
  std::vector<at::Tensor> labels{};   ///< per image (boxes) int64, class of each ground-truth box
  double alpha = 0.25;
  double gamma = 2;
};

/// Scalar: mean over images of (sum over anchors that are not ignored, and classes) / max(1,
/// matched). Gradients flow to the levels.
using FocalLossFn = at::Tensor(const FocalLossArguments& arguments);

Operator<FocalLossFn>& focal_loss_operator();

}  // namespace harness::kernels
