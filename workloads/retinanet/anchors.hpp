// Anchor boxes of RetinaNet's levels.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "workloads/retinanet/architecture.hpp"

namespace harness::workloads {

/// The nine boxes around the origin for level 0 (P3) to 4 (P7): (9, 4), whole numbers, ratio-major.
/// Sizes x, int(x*2^(1/3)), int(x*2^(2/3)) for x = smallest * 2^level; ratios h/w 0.5, 1, 2.
at::Tensor base_anchors(int64_t level, int64_t smallest = Architecture{}.smallest_anchor);

/// Anchors of each level, (H*W*9, 4) float32 pixels of the resized image; grid centres at multiples
/// of the stride, which is the image's extent divided by the map's as whole numbers (114 for P7 at
/// 800). Kept in float32 in every precision: the reference rounds the base boxes to the features'
/// type, which costs nothing in fp16 but would move boxes in bf16.
std::vector<at::Tensor> level_anchors(int64_t height, int64_t width,
                                      const Architecture& architecture = {});

}  // namespace harness::workloads
