// What the reference does to images and boxes on the device, before the network and after it.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <vector>

#include "workloads/retinanet/architecture.hpp"

namespace harness::workloads {

/// Ground truth of one image.
struct Target {
  at::Tensor boxes{};   ///< (M, 4) float32, (x1, y1, x2, y2), positive width and height; M may be 0
  at::Tensor labels{};  ///< (M) int64, columns of the logits
};

/// What the network takes.
struct Batch {
  at::Tensor images{};            ///< (N, 3, height, width) float32, normalised, channels_last
  std::vector<Target> targets{};  ///< boxes in pixels of the resized image
  std::vector<MapSize> original_sizes{};
};

/// Images (3, H, W) float32 in [0, 1] of any size: normalised with the ImageNet mean and deviation,
/// then resized (bilinear, pixel centres at half, no antialiasing, aspect ratio not kept).
/// `targets` is empty or as long as `images`. Throws Error for a box of no area, as the reference
/// does.
Batch transform(const std::vector<at::Tensor>& images, const std::vector<Target>& targets,
                int64_t height, int64_t width);

/// Ground truth in pixels of the resized image. Throws Error naming `image` for a box of no area.
Target resize_target(const Target& target, MapSize from, MapSize to, std::size_t image);

/// Boxes (M, 4) from pixels of one size to pixels of another, per axis.
at::Tensor resize_boxes(const at::Tensor& boxes, MapSize from, MapSize to);

}  // namespace harness::workloads
