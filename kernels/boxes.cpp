#include "kernels/boxes.hpp"

namespace harness::kernels {
namespace {

at::Tensor column(const at::Tensor& boxes, int64_t index) {
  return boxes.select(1, index).unsqueeze(1);
}

at::Tensor box_area(const at::Tensor& boxes) {
  return (boxes.select(1, 2) - boxes.select(1, 0)) * (boxes.select(1, 3) - boxes.select(1, 1));
}

}  // namespace

at::Tensor box_iou(const at::Tensor& boxes, const at::Tensor& others) {
  const at::Tensor area = box_area(boxes);
  const at::Tensor other_area = box_area(others);
  const at::Tensor top_left = at::max(boxes.unsqueeze(1).slice(2, 0, 2), others.slice(1, 0, 2));
  const at::Tensor bottom_right = at::min(boxes.unsqueeze(1).slice(2, 2, 4), others.slice(1, 2, 4));
  const at::Tensor size = (bottom_right - top_left).clamp_min(0);
  const at::Tensor intersection = size.select(2, 0) * size.select(2, 1);
  return intersection / (area.unsqueeze(1) + other_area - intersection);
}

at::Tensor encode_boxes(const at::Tensor& boxes, const at::Tensor& anchors) {
  const at::Tensor anchor_width = column(anchors, 2) - column(anchors, 0);
  const at::Tensor anchor_height = column(anchors, 3) - column(anchors, 1);
  const at::Tensor anchor_x = column(anchors, 0) + 0.5 * anchor_width;
  const at::Tensor anchor_y = column(anchors, 1) + 0.5 * anchor_height;
  const at::Tensor width = column(boxes, 2) - column(boxes, 0);
  const at::Tensor height = column(boxes, 3) - column(boxes, 1);
  const at::Tensor x = column(boxes, 0) + 0.5 * width;
  const at::Tensor y = column(boxes, 1) + 0.5 * height;
  return at::cat({(x - anchor_x) / anchor_width, (y - anchor_y) / anchor_height,
                  at::log(width / anchor_width), at::log(height / anchor_height)},
                 1);
}

at::Tensor decode_boxes(const at::Tensor& codes, const at::Tensor& anchors) {
  const at::Tensor width = column(anchors, 2) - column(anchors, 0);
  const at::Tensor height = column(anchors, 3) - column(anchors, 1);
  const at::Tensor x = column(anchors, 0) + 0.5 * width;
  const at::Tensor y = column(anchors, 1) + 0.5 * height;
  const at::Tensor new_x = column(codes, 0) * width + x;
  const at::Tensor new_y = column(codes, 1) * height + y;
  const at::Tensor half_width =
      0.5 * (at::exp(column(codes, 2).clamp_max(kMaxLogSizeRatio)) * width);
  const at::Tensor half_height =
      0.5 * (at::exp(column(codes, 3).clamp_max(kMaxLogSizeRatio)) * height);
  return at::cat({new_x - half_width, new_y - half_height, new_x + half_width, new_y + half_height},
                 1);
}

}  // namespace harness::kernels
