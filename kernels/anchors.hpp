// Anchor boxes on the levels of a feature pyramid. Boxes are rows (x1, y1, x2, y2).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace harness::kernels {

inline constexpr int64_t kAnchorsPerLocation = 9;

/// An extent behind a layer of stride 2 whose padding keeps it otherwise.
inline int64_t halved(int64_t extent) { return (extent - 1) / 2 + 1; }

struct MapSize {
  int64_t height = 0;
  int64_t width = 0;
};

/// Of the pyramid's levels, from P3 (an eighth of the image) on.
std::vector<MapSize> pyramid_sizes(int64_t height, int64_t width, int64_t levels = 5);

/// Anchors of one image: 120,087 at 800x800 with five levels.
int64_t anchor_count(int64_t height, int64_t width, int64_t levels = 5);

/// The nine boxes around the origin for level 0 (P3) to 4 (P7): (9, 4), whole numbers, ratio-major.
/// Sizes x, int(x*2^(1/3)), int(x*2^(2/3)) for x = smallest * 2^level; ratios h/w 0.5, 1, 2.
at::Tensor base_anchors(int64_t level, int64_t smallest = 32);

/// Anchors of each level, (H*W*9, 4) float32 pixels of the resized image; grid centres at multiples
/// of the stride, which is the image's extent divided by the map's as whole numbers (114 for P7 at
/// 800). Kept in float32 in every precision: the reference rounds the base boxes to the features'
/// type, which costs nothing in fp16 but would move boxes in bf16.
std::vector<at::Tensor> level_anchors(int64_t height, int64_t width, int64_t count = 5,
                                      int64_t smallest = 32);

}  // namespace harness::kernels
