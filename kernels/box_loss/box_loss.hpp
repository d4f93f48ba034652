// Operator `box-loss`: L1 distance between predicted and target box codes of the matched anchors.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "kernels/registry.hpp"

namespace harness::kernels {

struct BoxLossArguments {
  std::vector<at::Tensor> levels{};   ///< codes per level, (N, A*4, H, W) as the head wrote them
  std::vector<at::Tensor> matched{};  ///< per image (anchors) int64, see matcher.hpp
  std::vector<at::Tensor> boxes{};    ///< per image (boxes, 4) ground truth
  at::Tensor anchors{};               ///< (anchors, 4), the same for all images
};

/// Scalar: mean over images of (sum over matched anchors of |code - target|) / max(1, matched).
/// Gradients flow to the levels.
using BoxLossFn = at::Tensor(const BoxLossArguments& arguments);

Operator<BoxLossFn>& box_loss_operator();

}  // namespace harness::kernels
