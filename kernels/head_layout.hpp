// The heads write one map per level; the reference losses read one row per anchor.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace harness::kernels {

/// (N, A*columns, H, W) to (N, H*W*A, columns): anchors row by row, the A of a location together.
/// For a channels_last map this is a view.
at::Tensor flatten_level(const at::Tensor& level, int64_t columns);

/// flatten_level of each, one after another along dimension 1: (N, anchors, columns). Copies.
at::Tensor flatten_levels(const std::vector<at::Tensor>& levels, int64_t columns);

}  // namespace harness::kernels
