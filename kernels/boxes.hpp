// Box arithmetic shared by operators and models. Boxes are rows (x1, y1, x2, y2).
#pragma once

#include <ATen/ATen.h>

namespace harness::kernels {

/// Decoding clamps dw and dh here, at ln(1000/16): exp() of more would overflow the box.
inline constexpr double kMaxLogSizeRatio = 4.135166556742356;

/// Intersection over union of (M, 4) with (N, 4): (M, N). 0/0 gives NaN, as in the reference.
at::Tensor box_iou(const at::Tensor& boxes, const at::Tensor& others);

/// Regression targets (dx, dy, dw, dh) that turn `anchors` (N, 4) into `boxes` (N, 4): (N, 4).
/// Weights (1, 1, 1, 1): dx in anchor widths, dw = ln of the ratio of widths.
at::Tensor encode_boxes(const at::Tensor& boxes, const at::Tensor& anchors);

/// The inverse of encode_boxes, dw and dh clamped from above at kMaxLogSizeRatio: (N, 4).
at::Tensor decode_boxes(const at::Tensor& codes, const at::Tensor& anchors);

}  // namespace harness::kernels
